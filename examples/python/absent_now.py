"""Shows who is absent now: keeps a table of the current absences that are not over yet, from the topic `absences`.

    python absent_now.py                        # prints the table, and again whenever it changes
    python absent_now.py --once --json          # for programs: one line of JSON, then ends

It keeps nothing on disk: every start reads from the beginning, and prints nothing before the table is complete. The table
says how old it is: it has all corrections and withdrawals up to `watermark`, and lacks nothing that the hub had at
`completeAsOf`. A pupil or record that has left the hub may be shown for a day or two, until two full syncs in a row have
missed it. If one of the two times is longer ago than --old-after minutes, `old` is true.
"""

import argparse
import json
import sys
import uuid
from datetime import datetime, timedelta

from confluent_kafka import KafkaError, TopicPartition

from rollcall_types.absences import Absence
from rollcall_types.progress import Progress

from rollcall_topics import UntilSignal, Values, iso, now, open_consumer

LOOK_AGAIN_SECONDS = 30


class Table:
    def __init__(self, topics):
        self.absences_topic = f"{topics}.absences"
        self.absences = {}
        self.progress = None
        self.positions = {}

    def take(self, message, values):
        key = message.key().decode()
        if message.topic() == self.absences_topic:
            absence = values.of(message, Absence)
            if absence is None:  # withdrawn, gone, or part of another absence
                self.absences.pop(key, None)
            else:
                self.absences[key] = absence
        elif key == "absences":
            self.progress = values.of(message, Progress)
        self.passed(message.topic(), message.partition(), message.offset() + 1)

    def passed(self, topic, partition, position):
        """Notes that everything before `position` was read. Only the end of a partition shows that the markers of transactions were read."""
        name = f"{topic}/{partition}"
        self.positions[name] = max(self.positions.get(name, 0), position)

    def full(self):
        return None if self.progress is None else self.progress.lastCompleteFull

    def life(self):
        return None if self.progress is None else self.progress.lifeId

    def is_complete(self):
        full = self.full()
        if full is None:
            return False
        return all(
            self.positions.get(name, 0) > offset
            for name, offset in full.offsets.items()
            if name.startswith(f"{self.absences_topic}/")
        )

    def rows(self, at):
        found = []
        for absence_id, absence in self.absences.items():
            begin, end = absence.fromTime, absence.toTime
            if begin is None or end is None or not begin <= at < end:
                continue
            found.append({
                "absenceId": absence_id,
                "student": reference(absence.student),
                "from": iso(begin),
                "to": iso(end),
                "class": reference(absence.classesAffected),  # None: the whole day, or outside of class
            })
        return sorted(found, key=lambda row: row["absenceId"])


def reference(value):
    return None if value is None else value.sourcedId


def show(table, options, shown):
    at = options.at or now()
    watermark, complete_as_of = table.progress.watermark, table.full().startedAt
    limit = now() - timedelta(minutes=options.old_after)
    old = watermark is None or min(watermark, complete_as_of) < limit
    rows = table.rows(at)
    if shown == (rows, old):
        return shown
    known = {"at": iso(at), "watermark": iso(watermark), "completeAsOf": iso(complete_as_of), "old": old}
    if options.json:
        print(json.dumps({**known, "absent": rows}), flush=True)
    else:
        print(f"\n{len(rows)} absences at {iso(at)}, as the hub had them at {iso(watermark)}.", flush=True)
        print(f"No absence is missing that the hub had at {iso(complete_as_of)}. Those that have left the hub may be shown for a day or two.")
        if old:
            print(f"OLD: Rollcall has not read the hub for {options.old_after} minutes. Some of these students may be back.")
        for row in rows:
            print("  ", row["from"], row["to"], "student", row["student"], "class", row["class"], flush=True)
    return rows, old


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topics", default="rollcall.north", help="<prefix>.<tenant>")
    parser.add_argument("--at", type=datetime.fromisoformat, help="show who is absent at this time, instead of now")
    parser.add_argument("--old-after", type=float, default=24 * 60 + 60, help="age in minutes from which the table counts as old; a full sync runs once a day")
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    values, going_on, table, shown = Values(), UntilSignal(), Table(options.topics), None
    # The table is only in memory. So the program joins no group, and reads every partition from its beginning.
    consumer = open_consumer(f"absent-now-{uuid.uuid4()}", **{"enable.partition.eof": True})
    try:
        topics = [f"{options.topics}.progress", table.absences_topic]
        found = consumer.list_topics(timeout=30).topics
        for name in topics:
            if name not in found:
                sys.exit(f"{name} does not exist: check --topics, or start Rollcall, which creates this topic, and then start this program again.")
        parts = [TopicPartition(name, part, 0) for name in topics for part in found[name].partitions]
        unread = {(part.topic, part.partition) for part in parts}
        consumer.assign(parts)
        while going_on:
            message = consumer.poll(LOOK_AGAIN_SECONDS)
            if message is not None and message.error() is None:
                life = table.life()
                table.take(message, values)
                if not unread and life is not None and table.life() != life:
                    sys.exit("The topic was recreated, or lost records. Start this program again.")
                continue
            if message is not None:
                if message.error().code() != KafkaError._PARTITION_EOF:
                    raise SystemExit(str(message.error()))
                table.passed(message.topic(), message.partition(), message.offset())
                unread.discard((message.topic(), message.partition()))
            # An older record of `progress` may no longer be true. So `progress` is first read to its end.
            if not unread and table.is_complete():
                shown = show(table, options, shown)
                if options.once:
                    return
            elif not unread:
                print("Rollcall has not read all absences yet: waiting.", file=sys.stderr, flush=True)
    finally:
        consumer.close()


if __name__ == "__main__":
    main()
