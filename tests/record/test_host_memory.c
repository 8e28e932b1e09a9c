/* Which control group a process is in, what its files say, and when rows come of it. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host_memory.h"
#include "test.h"

static const char second[] = "0::/user.slice/run.scope\n";
static const char second_mounts[] =
    "22 1 8:1 / / rw - ext4 /dev/sda rw\n"
    "30 22 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
static const char first[] = "9:name=systemd:/\n4:cpuset,memory:/jobs/7\n0::/\n";
static const char first_mounts[] =
    "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

TEST(a_group_of_version_2)
{
    struct host_group group;
    REQUIRE(host_group_find(&group, second, second_mounts));
    CHECK_STR(group.dir, "/sys/fs/cgroup/user.slice/run.scope");
    CHECK_INT(group.mount, strlen("/sys/fs/cgroup"));
    CHECK(!group.first);
    REQUIRE(host_group_find(&group, "0::/\n", second_mounts));
    CHECK_STR(group.dir, "/sys/fs/cgroup");
}

TEST(a_group_of_version_1)
{
    struct host_group group;
    REQUIRE(host_group_find(&group, first, first_mounts));
    CHECK_STR(group.dir, "/sys/fs/cgroup/memory/jobs/7");
    CHECK(group.first);
}

/* The mount's root is the container's own folder; from outside of it the path is another one. */
TEST(a_group_in_a_container)
{
    static const char mounts[] =
        "35 31 0:32 /docker/ab /sys/fs/cgroup/memory ro master:9 - cgroup cgroup rw,memory\n";
    struct host_group group;
    REQUIRE(host_group_find(&group, "4:memory:/docker/ab\n", mounts));
    CHECK_STR(group.dir, "/sys/fs/cgroup/memory");
    REQUIRE(host_group_find(&group, "4:memory:/docker/ab/inner\n", mounts));
    CHECK_STR(group.dir, "/sys/fs/cgroup/memory/inner");
    REQUIRE(host_group_find(&group, "4:memory:/\n", mounts));
    CHECK_STR(group.dir, "/sys/fs/cgroup/memory");
}

TEST(no_group_that_can_be_seen)
{
    struct host_group group;
    CHECK(!host_group_find(&group, "", second_mounts));
    CHECK(!host_group_find(&group, second, ""));
    CHECK(!host_group_find(&group, second, "30 22 0:26"));
    CHECK(!host_group_find(&group, "4:memory:\n", first_mounts));
    CHECK_STR(group.dir, "");
}

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    REQUIRE(file != NULL);
    fputs(text, file);
    fclose(file);
}

static struct host_group make_group(const char *name, bool is_first, char *outer, size_t room)
{
    struct host_group group = {.first = is_first};
    snprintf(outer, room, "%s", test_path(name));
    snprintf(group.dir, sizeof group.dir, "%s/inner", outer);
    group.mount = strlen(outer);
    REQUIRE(mkdir(outer, 0700) == 0 && mkdir(group.dir, 0700) == 0);
    return group;
}

/* The limit of the group around it is lower, and so is it whose use counts. */
TEST(the_lowest_limit_above)
{
    char outer[512];
    struct host_memory memory;
    const struct host_group group = make_group("second", false, outer, sizeof outer);
    write_file(group.dir, "memory.max", "max\n");
    write_file(group.dir, "memory.current", "1000\n");
    write_file(group.dir, "memory.events", "low 0\noom 3\noom_kill 2\noom_group_kill 0\n");
    host_group_read(&group, &memory);
    CHECK_INT(memory.values[HOST_GROUP_USED], 1000);
    CHECK(memory.values[HOST_GROUP_LIMIT] == HOST_UNKNOWN);
    write_file(outer, "memory.max", "8000\n");
    write_file(outer, "memory.current", "5000\n");
    host_group_read(&group, &memory);
    CHECK_INT(memory.values[HOST_GROUP_USED], 5000);
    CHECK_INT(memory.values[HOST_GROUP_LIMIT], 8000);
    CHECK_INT(memory.kills, 2);
}

TEST(no_limit_of_version_1)
{
    char outer[512];
    struct host_memory memory;
    const struct host_group group = make_group("first", true, outer, sizeof outer);
    write_file(group.dir, "memory.limit_in_bytes", "9223372036854771712\n");
    write_file(group.dir, "memory.usage_in_bytes", "700\n");
    write_file(group.dir, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
    host_group_read(&group, &memory);
    CHECK_INT(memory.values[HOST_GROUP_USED], 700);
    CHECK(memory.values[HOST_GROUP_LIMIT] == HOST_UNKNOWN);
    CHECK_INT(memory.kills, 1);
}

TEST(what_is_not_there_is_not_known)
{
    struct host_memory memory;
    const struct host_group none = {0};
    host_group_read(&none, &memory);
    CHECK(memory.kills == HOST_UNKNOWN && memory.values[HOST_GROUP_USED] == HOST_UNKNOWN);
    host_status_read("Name:\tx\nVmSize:\t 12 kB\nVmRSS:\t4 kB\n", &memory);
    CHECK_INT(memory.values[HOST_ADDRESS_SPACE], 12 << 10);
    CHECK_INT(memory.values[HOST_RSS], 4 << 10);
    CHECK(memory.values[HOST_DATA] == HOST_UNKNOWN);
}

TEST(this_process)
{
    struct host_group group;
    struct host_memory memory;
    host_group_of(&group, getpid());
    REQUIRE(host_memory_read(&memory, getpid(), &group));
    CHECK(memory.values[HOST_RSS] > 0);
    CHECK(memory.values[HOST_ADDRESS_SPACE] >= memory.values[HOST_RSS]);
    CHECK(memory.values[HOST_MACHINE] >= memory.values[HOST_AVAILABLE]);
    CHECK(!host_memory_read(&memory, -1, &group));
}

TEST_MAIN(TEST_CASE(a_group_of_version_2), TEST_CASE(a_group_of_version_1),
          TEST_CASE(a_group_in_a_container), TEST_CASE(no_group_that_can_be_seen),
          TEST_CASE(the_lowest_limit_above), TEST_CASE(no_limit_of_version_1),
          TEST_CASE(what_is_not_there_is_not_known), TEST_CASE(this_process))
