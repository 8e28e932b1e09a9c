tidemark check ranks.db --max-peak 20G --no-oom --no-lost --junit out.xml >/dev/null; echo $?
cat out.xml
python3 -c 'import xml.etree.ElementTree as e; s = e.parse("out.xml").getroot()[0]; print(s.attrib); print([(c.get("name"), c[0].tag) for c in s])'
tidemark check leaks.db --max-reserved 1G --max-peak 1G --allow-unknown --junit out.xml >/dev/null; echo $?
python3 -c 'import xml.etree.ElementTree as e; s = e.parse("out.xml").getroot()[0]; print(s.attrib); print([(c.get("name"), c[0].tag) for c in s])'
