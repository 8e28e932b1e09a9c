for arguments in frag.db 'frag.db --oom' 'frag.db --over-time' 'frag.db end' pools.db train.db ranks.db silent.db empty.db; do
    ( command -v python3 >/dev/null || { echo valid; exit 0; }
      tidemark frag $arguments -f json | python3 -m json.tool >/dev/null && echo valid )
done
