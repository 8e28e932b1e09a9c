#!/bin/sh
# fleet-workers.sh PYSPARK COMMAND... - runs the command beside a Spark cluster on this machine: a master,
# and two workers, each in a network namespace of its own, as two machines would be. PYSPARK is the folder
# of the Python package. The command finds the master's address in SPARK_MASTER; its network is the
# master's. All is gone when it ends. Takes root, for the namespaces.
#
#     scripts/fleet-workers.sh "$(python3 -c 'import pyspark; print(pyspark.__path__[0])')" \
#         sh -c 'python3 scripts/fleet-bench.py time DIR Spark --master $SPARK_MASTER'
set -eu
[ $# -ge 2 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
SPARK_HOME=$1
shift
net=10.213.71 name=tmfleet
work=$(mktemp -d)
pids=
export SPARK_HOME

end() {
    [ -z "$pids" ] || kill $pids 2>/dev/null || :
    wait 2>/dev/null || :
    for worker in 1 2; do
        ip netns del "$name$worker" 2>/dev/null || :
    done
    ip link del "${name}br" 2>/dev/null || :
    rm -rf "$work"
}
trap end EXIT
trap 'exit 130' INT TERM

# HOST CLASS ARGUMENTS...: a process of Spark's, with its log.
start() {
    host=$1
    shift
    SPARK_LOCAL_IP=$host "$SPARK_HOME/bin/spark-class" "$@" --host "$host" >"$work/$host.log" 2>&1 &
    pids="$pids $!"
}

# HOST TEXT: until its log has the text.
await() {
    tries=0
    until grep -q "$2" "$work/$1.log"; do
        tries=$((tries + 1))
        [ $tries -lt 600 ] || { tail "$work/$1.log" >&2; exit 1; }
        sleep 0.2
    done
}

ip link add "${name}br" type bridge
ip addr add "$net.1/24" dev "${name}br"
ip link set "${name}br" up
for worker in 1 2; do
    ip netns add "$name$worker"
    ip link add "$name$worker" type veth peer name eth0 netns "$name$worker"
    ip link set "$name$worker" master "${name}br" up
    ip -n "$name$worker" addr add "$net.$((worker + 1))/24" dev eth0
    ip -n "$name$worker" link set eth0 up
    ip -n "$name$worker" link set lo up
done

SPARK_MASTER=spark://$net.1:7077
export SPARK_MASTER
start "$net.1" org.apache.spark.deploy.master.Master --port 7077 --webui-port 0
await "$net.1" "I have been elected leader"
for worker in 1 2; do
    host=$net.$((worker + 1))
    SPARK_LOCAL_IP=$host ip netns exec "$name$worker" "$SPARK_HOME/bin/spark-class" \
        org.apache.spark.deploy.worker.Worker --host "$host" --cores 1 --memory 2g --webui-port 0 \
        --work-dir "$work/$worker" "$SPARK_MASTER" >"$work/$host.log" 2>&1 &
    pids="$pids $!"
    await "$host" "Successfully registered with master"
done
"$@"
grep "Registering worker\|Registering app\|Launching executor" "$work/$net.1.log" | sed 's/.*: //' >&2 || :
