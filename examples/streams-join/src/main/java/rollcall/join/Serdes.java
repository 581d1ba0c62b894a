package rollcall.join;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.avro.Schema;
import org.apache.avro.io.DatumReader;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;
import org.apache.avro.specific.SpecificData;
import org.apache.avro.specific.SpecificDatumReader;
import org.apache.avro.specific.SpecificDatumWriter;
import org.apache.avro.specific.SpecificRecord;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serializer;

/**
 * Avro for Kafka. {@link #framed} reads and writes Confluent's framing: a zero byte, the schema's id in four bytes, the
 * body. Confluent's own `SpecificAvroSerde` does the same and can stand in its place; its artifacts are not on Maven
 * Central, so this example brings the few lines.
 */
final class Serdes {
  private static final int FRAME_BYTES = 5;

  private Serdes() {}

  /** For topics that others read: schemas by the registry, under the subject `<topic>-value`. */
  static <T extends SpecificRecord> Serde<T> framed(Class<T> type, Schemas registry) {
    SpecificData data = SpecificData.getForClass(type);
    Schema schema = data.getSchema(type);
    Map<Integer, DatumReader<T>> readers = new ConcurrentHashMap<>();
    Serializer<T> serializer =
        (topic, value) -> value == null ? null : encoded(value, registry.idOf(topic + "-value", schema), data);
    Deserializer<T> deserializer =
        (topic, bytes) -> {
          if (bytes == null) return null;
          if (bytes.length < FRAME_BYTES || bytes[0] != 0) {
            throw new SerializationException("a value in " + topic + " is not in Confluent's framing");
          }
          int id = ByteBuffer.wrap(bytes, 1, 4).getInt();
          DatumReader<T> reader =
              readers.computeIfAbsent(id, each -> new SpecificDatumReader<>(registry.byId(each), schema, data));
          return decoded(bytes, FRAME_BYTES, reader);
        };
    return org.apache.kafka.common.serialization.Serdes.serdeFrom(serializer, deserializer);
  }

  /** For internal topics and stores: the body alone. A changed schema needs a new application id. */
  static <T extends SpecificRecord> Serde<T> internal(Class<T> type) {
    SpecificData data = SpecificData.getForClass(type);
    Schema schema = data.getSchema(type);
    DatumReader<T> reader = new SpecificDatumReader<>(schema, schema, data);
    Serializer<T> serializer = (topic, value) -> value == null ? null : encoded(value, null, data);
    Deserializer<T> deserializer = (topic, bytes) -> bytes == null ? null : decoded(bytes, 0, reader);
    return org.apache.kafka.common.serialization.Serdes.serdeFrom(serializer, deserializer);
  }

  private static <T extends SpecificRecord> byte[] encoded(T value, Integer schemaId, SpecificData data) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try {
      if (schemaId != null) {
        DataOutputStream frame = new DataOutputStream(bytes);
        frame.writeByte(0);
        frame.writeInt(schemaId);
      }
      var encoder = EncoderFactory.get().directBinaryEncoder(bytes, null);
      new SpecificDatumWriter<T>(value.getSchema(), data).write(value, encoder);
      encoder.flush();
      return bytes.toByteArray();
    } catch (IOException error) {
      throw new SerializationException("a " + value.getSchema().getName() + " could not be encoded", error);
    }
  }

  private static <T> T decoded(byte[] bytes, int from, DatumReader<T> reader) {
    try {
      return reader.read(null, DecoderFactory.get().binaryDecoder(bytes, from, bytes.length - from, null));
    } catch (IOException error) {
      throw new SerializationException("a value could not be decoded", error);
    }
  }
}
