#include "script.h"

#include <inttypes.h>
#include <stdio.h>

#include "buf.h"
#include "test.h"

static const char *const site_names[] = {
    "build (model.py:10)",  "encode (model.py:20)", "decode (model.py:30)",
    "backward (run.py:40)", "backward (run.py:41)", "adam (optim.py:50)",
    "forward (rnn.py:60)",  "other (model.py:70)",  "warm_up (model.py:80)",
};

void script_tagged(struct script *script, int64_t seq, int64_t end, int64_t size, int site, int tag)
{
    REQUIRE(script->block_count < SCRIPT_BLOCKS);
    script->blocks[script->block_count++] = (struct script_block){seq, end, size, site, tag};
}

void script_block(struct script *script, int64_t seq, int64_t end, int64_t size, int site)
{
    script_tagged(script, seq, end, size, site, 0);
}

int script_phase(struct script *script, const char *kind, int step, int64_t begin, int64_t end)
{
    REQUIRE(script->phase_count < SCRIPT_PHASES);
    script->phases[script->phase_count++] = (struct script_phase){kind, kind, step, 0, begin, end};
    return script->phase_count;
}

static int64_t level(const struct script *script, int64_t seq)
{
    int64_t bytes = 0;
    for (int i = 0; i < script->block_count; i++) {
        const struct script_block *block = &script->blocks[i];
        if (block->seq <= seq && (block->end == SCRIPT_LIVES || block->end > seq))
            bytes += block->size;
    }
    return bytes;
}

static int64_t last_seq(const struct script *script)
{
    int64_t last = 0;
    for (int i = 0; i < script->phase_count; i++) {
        const struct script_phase *phase = &script->phases[i];
        last = phase->end > last ? phase->end : phase->begin > last ? phase->begin : last;
    }
    return last + 100;
}

static void put_phase(struct buf *sql, const struct script *script, int id)
{
    const struct script_phase *phase = &script->phases[id - 1];
    int64_t end = phase->end == SCRIPT_LIVES ? last_seq(script) : phase->end;
    int64_t highest = level(script, phase->begin - 1), at = -1;
    for (int64_t seq = phase->begin; seq <= end; seq++) {
        int64_t now = level(script, seq);
        at = now > highest ? seq : at;
        highest = now > highest ? now : highest;
    }
    buf_print(sql,
              "INSERT INTO "
              "phase(id,process,thread,parent,ordinal,kind,name,step,begin_seq,end_seq,begin_ns,"
              "end_ns,scope,ended) VALUES(%d,1,1,nullif(%d,0),0,'%s','%s',nullif(%d,-1),%" PRId64
              ",nullif(%" PRId64 ",-1),%" PRId64 ",%" PRId64 ",'process','end');",
              id, phase->parent, phase->kind, phase->name, phase->step, phase->begin, phase->end,
              phase->begin * 1000, end * 1000);
    buf_print(sql,
              "INSERT INTO phase_device VALUES(%d,1,%" PRId64 ",%" PRId64
              ",NULL,NULL,NULL,NULL,0,NULL,NULL,%" PRId64 ",nullif(%" PRId64 ",-1),%" PRId64
              ",NULL,0,0,0);",
              id, level(script, phase->begin - 1), level(script, end), highest, at, at * 1000);
    buf_print(sql, "INSERT OR REPLACE INTO stretch VALUES(1,%" PRId64 ",%d);", phase->begin, id);
    if (phase->parent && phase->end != SCRIPT_LIVES)
        buf_print(sql, "INSERT OR REPLACE INTO stretch VALUES(1,%" PRId64 ",%d);", end + 1,
                  phase->parent);
}

static void put_block(struct buf *sql, const struct script_block *block)
{
    bool lives = block->end == SCRIPT_LIVES;
    buf_print(sql,
              "INSERT INTO "
              "allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,tag,"
              "segment) VALUES(%" PRId64 ",1,%" PRId64 ",%" PRId64 ",NULL,%" PRId64 ",%" PRId64
              ",%" PRId64 ",nullif(%d,0),nullif(%d,0),NULL);",
              block->seq, block->seq * 4096, block->size, block->seq * 1000,
              lives ? -(INT64_C(1) << 46) : (block->end - block->seq) * 1000,
              lives ? -(INT64_C(1) << 31) : block->end, block->site, block->tag);
}

struct db *script_record(const struct script *script)
{
    struct db *db;
    struct buf sql = {0};
    buf_print(&sql,
              "INSERT INTO device VALUES(1,'cuda',0,NULL,NULL);"
              "INSERT INTO heap VALUES(1,1,1,0,0,NULL);"
              "INSERT INTO process VALUES(1,7,NULL,'root',0,NULL,NULL,NULL,NULL,NULL,NULL,"
              "NULL,NULL,NULL,NULL,NULL,1,%" PRId64 ",NULL);",
              last_seq(script));
    for (int i = 1; i <= 8; i++)
        buf_print(&sql, "INSERT INTO tag VALUES(%d,%d,NULL);", i, i);
    for (size_t i = 1; i <= sizeof site_names / sizeof *site_names; i++)
        buf_print(&sql,
                  "INSERT INTO string VALUES(%zu,'%s');INSERT INTO frame VALUES(%zu,%zu,"
                  "NULL,NULL);INSERT INTO site VALUES(%zu,0,%zu);",
                  i, site_names[i - 1], i, i, i, i);
    for (int id = 1; id <= script->phase_count; id++)
        put_phase(&sql, script, id);
    for (int i = 0; i < script->block_count; i++)
        put_block(&sql, &script->blocks[i]);
    remove(test_path("script"));
    REQUIRE(db_create(&db, test_path("script")) == 0);
    int err = db_exec(db, buf_string(&sql));
    if (err)
        fprintf(stderr, "%s\n", db_message(db));
    REQUIRE(!sql.broken && err == 0);
    buf_clear(&sql);
    return db;
}
