"""The questions of sql/fleet on each engine: the same text, and tables of the same names. Used by
test_parquet.py and by scripts/fleet-bench.py."""

import glob
import json
import os
import re
import sqlite3

HERE = os.path.dirname(os.path.abspath(__file__))
QUESTIONS = os.path.join(os.path.dirname(os.path.dirname(HERE)), "sql", "fleet")


def questions():
    """Name and text of each."""
    for path in sorted(glob.glob(os.path.join(QUESTIONS, "*.sql"))):
        with open(path) as file:
            yield os.path.basename(path)[:-4], file.read()


def value(one):
    """As JSON, floats by nine digits: engines add in different orders."""
    if isinstance(one, float):
        return int(one) if one.is_integer() else float("%.9g" % one)
    if hasattr(one, "as_tuple") or hasattr(one, "numerator"):
        number = float(one)
        return (
            int(one)
            if number == int(number) and not isinstance(one, bool)
            else float("%.9g" % number)
        )
    return one


def rows(many):
    return [[value(one) for one in row] for row in many]


class DuckDB:
    def __init__(self, folder, names, threads=None):
        import duckdb

        self.connection = duckdb.connect()
        if threads:
            self.connection.execute("SET threads = %d" % threads)
        for name in names:
            self.connection.execute(
                "CREATE VIEW %s AS SELECT * FROM read_parquet('%s/%s/*/*/*.parquet', "
                "hive_partitioning = true, hive_types = {'run': VARCHAR, 'rank': BIGINT})"
                % (name, folder, name)
            )

    def ask(self, text):
        return rows(self.connection.execute(text).fetchall())


class ChDB:
    SETTINGS = (
        "SET use_hive_partitioning = 1, join_use_nulls = 1, prefer_column_name_to_alias = 1, "
        "output_format_json_quote_64bit_integers = 0"
    )

    def __init__(self, folder, names, threads=None):
        from chdb import session

        self.session = session.Session()
        for setting in self.SETTINGS[4:].split(", "):
            self.session.query("SET " + setting)
        for name in names:
            self.session.query(
                "CREATE VIEW %s AS SELECT * REPLACE(CAST(run AS String) AS run, "
                "CAST(rank AS Int64) AS rank) FROM file('%s/%s/*/*/*.parquet', 'Parquet')"
                % (name, folder, name)
            )

    def ask(self, text):
        answer = self.session.query(text, "JSONCompact")
        return rows(json.loads(str(answer))["data"])


class Spark:
    """In this process, or on a cluster whose master is at spark://HOST:PORT. Its workers have the same
    folder at the same path, and reach this process at HOST."""

    def __init__(self, folder, names, threads=None, master=None):
        from pyspark.sql import SparkSession

        host = re.match(r"spark://([^:]+)", master)[1] if master else "127.0.0.1"
        self.session = (
            SparkSession.builder.master(master or "local[%d]" % (threads or 2))
            .config("spark.ui.enabled", "false")
            .config("spark.sql.shuffle.partitions", "4")
            .config("spark.driver.memory", "3g")
            .config("spark.driver.bindAddress", host)
            .config("spark.driver.host", host)
            .getOrCreate()
        )
        self.session.sparkContext.setLogLevel("ERROR")
        for name in names:
            frame = self.session.read.parquet("%s/%s" % (folder, name))
            frame = frame.withColumn("rank", frame["rank"].cast("bigint"))
            frame = frame.withColumn("run", frame["run"].cast("string"))
            frame.createOrReplaceTempView(name)

    def ask(self, text):
        return rows(tuple(row) for row in self.session.sql(text).collect())


class SQLite:
    """Of the recordings themselves: path by run."""

    def __init__(self, recordings, commits):
        from tidemark import _parquet_views as views

        self.connection = sqlite3.connect(":memory:")
        columns = dict(views.VIEWS, **{name: fact[0] for name, fact in views.FACTS.items()})
        for name, own in columns.items():
            names = ", ".join(views.quoted(c.name) for c in own)
            self.connection.execute("CREATE TABLE %s(run, rank, %s)" % (name, names))
        for run, path in recordings.items():
            self._take(run, path, commits.get(run), columns)

    def _take(self, run, path, commit, columns):
        from tidemark import _parquet_views as views

        source = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
        source.text_factory = lambda text: text.decode("utf-8", "replace")
        ranks = dict(source.execute("SELECT id, coalesce(rank, -1) FROM process"))
        for name, own in columns.items():
            if name in views.FACTS:
                found = source.execute(
                    views.FACTS[name][1],
                    {"commit": commit} if ":commit" in views.FACTS[name][1] else {},
                )
            else:
                found = source.execute(views.view_query(name))
            places = ", ".join("?" * (len(own) + 2))
            self.connection.executemany(
                "INSERT INTO %s VALUES (%s)" % (name, places),
                ([run, ranks.get(row[0], -1), *row] for row in found),
            )

    def ask(self, text):
        return rows(self.connection.execute(text).fetchall())


def missing(engine):
    """Why it is not there; None: it is."""
    import importlib.util
    import shutil

    module = {"DuckDB": "duckdb", "ChDB": "chdb", "Spark": "pyspark"}[engine]
    if not importlib.util.find_spec(module):
        return "%s is not installed" % module
    if engine == "Spark" and not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        return "Spark needs Java"
    return None


def sentence(text):
    """The first line of a question."""
    return re.match(r"-- (.*)", text)[1]
