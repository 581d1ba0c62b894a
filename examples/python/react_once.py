"""Reacts to each change of an absence, with each effect exactly once, from the topic `absence-changes`.

    python react_once.py --db reactions.sqlite

The program stores its reactions to some events, and the positions after these events, in one transaction of one database
(SQLite). So you may kill the program at any time: either both are stored, or neither is stored and the events come again. The
database, not Kafka, says where to go on. Sending a message is a separate step, here a line of output. A crash may repeat this
step, so the line has the `ce_id`.

Positions are valid only in one life of the topic. If the topic was recreated, or lost records, the program ends with 1. The next start
forgets the positions and reads from the beginning.
"""

import argparse
import json
import sqlite3
import sys
from datetime import timedelta

from confluent_kafka import OFFSET_BEGINNING

from rollcall_types.absence_changes import AbsenceChange

from rollcall_topics import TopicLife, UntilSignal, Values, iso, now, open_consumer

SCHEMA = """
create table if not exists started (at text not null);
create table if not exists positions (topic text, partition integer, next integer not null, primary key (topic, partition));
create table if not exists life (id text not null);
create table if not exists reactions (
  ce_id text primary key, absence_id text not null, action text not null, facts text not null, sent integer not null default 0
);
"""
COLLECTION = "absence-changes"
RECREATED = (
    f"The topic of {COLLECTION} was recreated, or lost records. Start this program again: it then reads the topic from the beginning."
)
MESSAGES = {"CREATED": "tell", "RESTORED": "tell", "REPLACED": "correct", "DELETED": "withdraw"}


class Reactions:
    def __init__(self, path, too_late_after):
        self.db = sqlite3.connect(path, timeout=10, isolation_level=None)
        self.db.executescript(SCHEMA)
        self.db.execute("insert into started select ? where not exists (select * from started)", [iso(now())])
        self.started = self.db.execute("select at from started").fetchone()[0]
        self.too_late_after = too_late_after

    def position(self, topic, partition):
        query = "select next from positions where topic = ? and partition = ?"
        row = self.db.execute(query, [topic, partition]).fetchone()
        return None if row is None else row[0]

    def begin_life(self, life):
        """Forgets the positions if they belong to another life of the topic."""
        self.db.execute("begin immediate")
        if not self.is_of_life(life):
            self.db.execute("delete from positions")
            self.db.execute("delete from life")
            self.db.execute("insert into life values (?)", [life])
        self.db.execute("commit")

    def is_of_life(self, life):
        return self.db.execute("select id from life").fetchone() == (life,)

    def take(self, messages, values, life):
        """One transaction: the reactions to some events, and the positions after them."""
        changes = [(message, values.of(message, AbsenceChange)) for message in messages]
        self.db.execute("begin immediate")
        try:
            if not self.is_of_life(life):  # another process of the group has begun another life
                raise SystemExit(RECREATED)
            for message, change in changes:
                self.take_one(message, change)
            self.db.execute("commit")
        except BaseException:
            self.db.execute("rollback")
            raise

    def take_one(self, message, change):
        topic, partition, offset = message.topic(), message.partition(), message.offset()
        # Another process of the group may have handled this event: it took the partition over, and this process has not noticed yet.
        if (self.position(topic, partition) or 0) > offset:
            return
        if change is not None:  # None: the absence is forgotten
            self.react(dict(message.headers())["ce_id"].decode(), change)
        self.db.execute("insert or replace into positions values (?, ?, ?)", [topic, partition, offset + 1])

    def react(self, ce_id, change):
        # Changes from before Rollcall's first load, or from before the first start of this program, are not news.
        if change.snapshot or iso(change.detectedAt) < self.started:
            return
        facts = json.dumps({"fromTime": iso(change.version.fromTime), "toTime": iso(change.version.toTime)})
        row = [ce_id, change.absenceId, self.action(change), facts]
        self.db.execute("insert or ignore into reactions (ce_id, absence_id, action, facts) values (?, ?, ?, ?)", row)

    def action(self, change):
        end = change.version.toTime
        if change.cause == "MERGED":  # nothing happened to the student
            return "nothing"
        if end is not None and end < now() - self.too_late_after:
            return "nothing"
        if change.cause != "HUB":  # the record left the hub, but nobody withdrew the absence: let a person ask
            return "ask"
        return MESSAGES.get(change.operation, "ask")

    def send(self):
        query = "select ce_id, absence_id, action, facts from reactions where sent = 0 and action <> 'nothing' order by rowid"
        for ce_id, absence_id, action, facts in self.db.execute(query).fetchall():
            print(action, facts, "absence", absence_id, "ce_id", ce_id, flush=True)
            self.db.execute("update reactions set sent = 1 where ce_id = ?", [ce_id])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topics", default="rollcall.north", help="<prefix>.<tenant>")
    parser.add_argument("--db", default="reactions.sqlite")
    parser.add_argument("--group", default="react-once-python")
    parser.add_argument("--too-late-after", type=float, default=24, help="this many hours after its end, an absence is not news any more")
    options = parser.parse_args()
    reactions = Reactions(options.db, timedelta(hours=options.too_late_after))
    reactions.send()  # the messages that a crash may have left unsent
    values, going_on = Values(), UntilSignal()
    consumer, topic_life = open_consumer(options.group), TopicLife(options.topics, COLLECTION, values)

    def go_on_where_the_database_is(consumer, partitions):
        for part in partitions:
            stored = reactions.position(part.topic, part.partition)
            part.offset = OFFSET_BEGINNING if stored is None else stored
        consumer.assign(partitions)

    try:
        print(f"Waiting until Rollcall has published something in {options.topics}.{COLLECTION}", file=sys.stderr)
        while going_on and not (topic_life.read(timeout=1) and topic_life.is_read):
            pass
        if not going_on:
            return
        life = topic_life.id
        reactions.begin_life(life)
        consumer.subscribe([f"{options.topics}.{COLLECTION}"], on_assign=go_on_where_the_database_is)
        while going_on:
            messages = consumer.consume(500, timeout=1)
            for message in messages:
                if message.error() is not None:
                    raise SystemExit(str(message.error()))
            if topic_life.read() not in (None, life):
                raise SystemExit(RECREATED)
            reactions.take(messages, values, life)
            reactions.send()
    finally:
        topic_life.close()
        consumer.close()


if __name__ == "__main__":
    main()
