/* What a recording that is given away does not tell. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "private.h"
#include "state.h"
#include "test.h"

static void check(const char *text, const char *want)
{
    char copy[256];
    size_t bytes = strlen(text);
    memcpy(copy, text, bytes + 1);
    size_t left = private_shorten(copy, bytes);
    REQUIRE(left <= bytes);
    copy[left] = '\0';
    CHECK_STR(copy, want);
}

TEST(paths_become_base_names)
{
    check("/data/ann/secret/train.py", "train.py");
    check("secret/train.py", "train.py");
    check("./train.py:12", "train.py:12");
    check("../a/b/model.cpp", "model.cpp");
    check("~/x/notes", "notes");
    check("/usr/lib/libnccl.so.2", "libnccl.so.2");
    check("cannot open /data/ann/x.db: disk full", "cannot open x.db: disk full");
    check("two: '/a/b' and (/c/d)", "two: 'b' and (d)");
    check("PYTHONPATH=/data/ann:/opt/x", "PYTHONPATH=x");
    check("/data/ann/folder/", "folder/");
    check("file:///data/ann/a.py", "a.py");
}

TEST(other_machines_are_not_named)
{
    check("file:///data/ann/q", "q");
    check("file:/data/ann/q", "q");
    check("file://localhost/data/ann/q/", "q/");
    check("https://ann:sesame@host.example:8080/a/b", "b");
    check("s3://bucket/ann/shard-1", "shard-1");
    check("ann@host:/srv/data", "data");
    check("ann@host:data", "data");
    check("ann@host:secret/data", "data");
    check("git@host.example:ann/model.git", "model.git");
    check("host:/srv/data", "data");
    check("host:~ann/data", "data");
    check("load ann@host:/srv/data, then file:///data/ann/q", "load data, then q");
    check("/data/ann@host:secret/x", "x");
    check("/data/ann@host:x", "x");
    check("ann@host:bob@other:x", "x");
    check("file:///usr/lib/python3.12/threading.py", "lib/python3.12/threading.py");
}

/* A megabyte of it: nothing is looked at again and again. */
TEST(a_long_chain_of_machines)
{
    size_t bytes = 1 << 20;
    char *text = malloc(bytes);
    REQUIRE(text != NULL);
    for (size_t i = 0; i < bytes; i++)
        text[i] = "a@b:"[i % 4];
    text[bytes - 1] = 'x';
    REQUIRE(private_shorten(text, bytes) == 4);
    CHECK(memcmp(text, "a@bx", 4) == 0); /* behind the last colon */
    free(text);
}

TEST(a_machine_alone_is_left_out)
{
    check("tcp://host.example:29500", "tcp:");
    check("https://ann@host/", "https:");
    check("init tcp://10.0.0.1:29500 done", "init tcp: done");
    check("url=tcp://host", "url=tcp:");
    check("x/tcp://host", "tcp:");
}

TEST(paths_of_windows)
{
    check("C:\\Users\\ann\\train.py", "train.py");
    check("C:\\Users\\ann\\", "ann\\");
    check("C:\\\\Users\\\\ann\\\\q", "q");
    check("C:/Users/ann/q", "q");
    check("\\\\machine\\share\\q", "q");
    check("..\\ann\\q", "q");
    check("load 'D:\\ann\\q'", "load 'q'");
    check("open:C:\\ann\\q", "q");
    check("two\\words", "two\\words");
    check("loss:\\n", "loss:\\n");
}

TEST(libraries_keep_what_is_the_same_everywhere)
{
    check("/data/ann/venv/lib/python3.12/site-packages/torch/_tensor.py",
          "site-packages/torch/_tensor.py");
    check("/usr/lib/python3/dist-packages/torch/nn/functional.py",
          "dist-packages/torch/nn/functional.py");
    check("/usr/lib/python3.12/threading.py:1012", "lib/python3.12/threading.py:1012");
    check("/opt/x/lib64/python3.9/json/decoder.py", "lib64/python3.9/json/decoder.py");
    check("/data/ann/x/site-packages/torch/lib/libtorch_cpu.so.2",
          "site-packages/torch/lib/libtorch_cpu.so.2");
    check("no (/a/site-packages/t/b.so)", "no (site-packages/t/b.so)");
    check("site-packages/torch/_tensor.py", "site-packages/torch/_tensor.py");
    check("secret/site-packages/site-packages/b.py", "site-packages/b.py");
}

TEST(what_is_like_a_library_is_cut)
{
    check("/data/ann/my-site-packages/x/a.py", "a.py");
    check("/data/ann/site-packages.py", "site-packages.py");
    check("/data/ann/site-packages", "site-packages");
    check("/data/libann/python3.12/a.py", "a.py");
    check("/data/lib/python3_secret/a.py", "a.py");
    check("/data/lib/python3./a.py", "a.py");
    check("/a/site-packages/../../ann/a.py", "a.py");
    check("/a/site-packages/b:/data/ann/c", "c");
    check("/data/ann:/a/site-packages/b.py", "site-packages/b.py");
}

TEST(what_is_no_path_stays)
{
    static const char *const texts[] = {"",
                                        "forward",
                                        "tokens/s",
                                        "train/loss",
                                        "encoder.layers.0.weight",
                                        "1/2",
                                        "<frozen x>",
                                        "a / b",
                                        "/",
                                        "//",
                                        "and/or",
                                        "N/A",
                                        "layer/attention",
                                        "train/forward",
                                        "home/ann/rel", /* cannot be told from a name */
                                        "forward@cuda:0",
                                        "ann@host",
                                        "@host:x",
                                        "a::b",
                                        "file://",
                                        "http:",
                                        "x/site-packages/y"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check(texts[i], texts[i]);
}

/* Random bytes: never longer, the same if it is done twice, and nothing rooted is left. */
TEST(any_text)
{
    static const char letters[] = "/ab.py ~=:('so@\\1";
    uint64_t seed = 7;
    for (int round = 0; round < 200000; round++) {
        char text[64], again[64];
        size_t bytes = test_random(&seed) % sizeof text;
        for (size_t i = 0; i < bytes; i++)
            text[i] = letters[test_random(&seed) % (sizeof letters - 1)];
        size_t left = private_shorten(text, bytes);
        REQUIRE(left <= bytes);
        memcpy(again, text, left);
        size_t same = private_shorten(again, left);
        if (same != left || memcmp(again, text, left) != 0)
            printf("%.*s|%.*s\n", (int)left, text, (int)same, again);
        REQUIRE(same == left && memcmp(again, text, left) == 0);
    }
}

TEST_MAIN(TEST_CASE(paths_become_base_names), TEST_CASE(other_machines_are_not_named),
          TEST_CASE(a_long_chain_of_machines), TEST_CASE(a_machine_alone_is_left_out),
          TEST_CASE(paths_of_windows), TEST_CASE(libraries_keep_what_is_the_same_everywhere),
          TEST_CASE(what_is_like_a_library_is_cut), TEST_CASE(what_is_no_path_stays),
          TEST_CASE(any_text))
