"""What both programs need to read Rollcall's topics: confluent-kafka and its own Avro deserialiser, nothing of Rollcall."""

import os
import signal
from datetime import datetime, timezone

from confluent_kafka import Consumer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext


def open_consumer(group, **settings):
    """Reads only what was committed, and commits nothing by itself."""
    return Consumer({
        "bootstrap.servers": os.environ.get("ROLLCALL_KAFKA_BROKERS", "localhost:9092"),
        "group.id": group,
        "isolation.level": "read_committed",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "allow.auto.create.topics": False,
        # After a kill the group waits this long before another member goes on.
        "session.timeout.ms": 10_000,
        **settings,
    })


class Values:
    """Decodes the values of topics. Times become datetimes in UTC, days dates; null stays None."""

    def __init__(self):
        url = os.environ.get("ROLLCALL_REGISTRY_URL", "http://localhost:8081")
        self._decode = AvroDeserializer(SchemaRegistryClient({"url": url}))

    def of(self, message):
        return self._decode(message.value(), SerializationContext(message.topic(), MessageField.VALUE))


class UntilSignal:
    """True until Ctrl-C or SIGTERM."""

    def __init__(self):
        self._goes_on = True
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._stop)

    def _stop(self, *_):
        self._goes_on = False

    def __bool__(self):
        return self._goes_on


def iso(time):
    return None if time is None else time.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def now():
    return datetime.now(timezone.utc)
