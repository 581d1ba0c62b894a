"""What both programs need to read Rollcall's topics: confluent-kafka, its own Avro deserialiser, and types made of the schemas."""

import os
import signal
import uuid
from datetime import datetime, timezone

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext
from rollcall_types.progress import Progress


def open_consumer(group, **settings):
    """Reads only what was committed, and commits nothing by itself."""
    return Consumer({
        "bootstrap.servers": os.environ.get("ROLLCALL_KAFKA_BROKERS", "localhost:9092"),
        "group.id": group,
        "isolation.level": "read_committed",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "allow.auto.create.topics": False,
        # If the process is killed, the group waits this long before another member goes on.
        "session.timeout.ms": 10_000,
        **settings,
    })


class Values:
    """Decodes the values of topics into types that make.sh has made. Times become datetimes in UTC, days dates; null stays None."""

    def __init__(self):
        url = os.environ.get("ROLLCALL_REGISTRY_URL", "http://localhost:8081")
        self._decode = AvroDeserializer(SchemaRegistryClient({"url": url}))

    def of(self, message, type):
        value = self._decode(message.value(), SerializationContext(message.topic(), MessageField.VALUE))
        return None if value is None else type.parse_obj(value)


class TopicLife:
    """The life of a topic, as `progress` says. If the id changes, the topic was recreated, or lost records."""

    def __init__(self, topics, collection, values):
        self.id = None  # until Rollcall has published something in the topic
        self.is_read = False
        self._collection, self._values = collection, values
        # No group commits anything: each start reads everything.
        self._consumer = open_consumer(f"life-{uuid.uuid4()}", **{"enable.partition.eof": True})
        self._consumer.assign([TopicPartition(f"{topics}.progress", 0, OFFSET_BEGINNING)])

    def read(self, timeout=0):
        """Reads what has come by now, and returns the id."""
        while (message := self._consumer.poll(timeout)) is not None:
            if message.error() is None:
                if message.key().decode() == self._collection and message.value() is not None:
                    self.id = self._values.of(message, Progress).lifeId
            elif message.error().code() == KafkaError._PARTITION_EOF:
                self.is_read = True
                break
            else:
                raise SystemExit(str(message.error()))
        return self.id

    def close(self):
        self._consumer.close()


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
