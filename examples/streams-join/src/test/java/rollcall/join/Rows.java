package rollcall.join;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Instant;
import java.time.LocalDate;
import java.util.Arrays;
import java.util.List;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.generic.GenericRecordBuilder;
import org.apache.avro.io.EncoderFactory;

/** Values of Rollcall's topics, encoded with Rollcall's own schemas. */
final class Rows {
  private static final Schema ABSENCE = schema("absence-versions");
  private static final Schema SCHEDULE = schema("schedules");
  private static final Schema CLASS = schema("classes");
  private static final Schema LESSON = SCHEDULE.getField("lessons").schema().getElementType();
  private static final Schema REFERENCE = nonNull(ABSENCE.getField("student").schema());

  private Rows() {}

  static GenericRecord absence(String version, String student, String from, String to, String classId) {
    return new GenericRecordBuilder(ABSENCE)
        .set("sourcedId", version)
        .set("student", reference(student))
        .set("fromTime", ms(from))
        .set("toTime", ms(to))
        .set("classesAffected", reference(classId))
        .build();
  }

  static GenericRecord day(String student, String date, GenericRecord... lessons) {
    return new GenericRecordBuilder(SCHEDULE)
        .set("student", student)
        .set("date", (int) LocalDate.parse(date).toEpochDay())
        .set("lessons", Arrays.asList(lessons))
        .build();
  }

  static GenericRecord lesson(String id, String start, String end, String... classIds) {
    List<GenericRecord> classes = Arrays.stream(classIds).map(Rows::reference).toList();
    return new GenericRecordBuilder(LESSON)
        .set("id", id)
        .set("title", "Lesson " + id)
        .set("start", ms(start))
        .set("end", ms(end))
        .set("classes", classes)
        .build();
  }

  static GenericRecord schoolClass(String id, String title) {
    return new GenericRecordBuilder(CLASS).set("sourcedId", id).set("title", title).build();
  }

  static byte[] framed(GenericRecord value, Schemas registry) {
    if (value == null) return null;
    try {
      ByteArrayOutputStream bytes = new ByteArrayOutputStream();
      bytes.write(0);
      bytes.write(ByteBuffer.allocate(4).putInt(registry.idOf("", value.getSchema())).array());
      var encoder = EncoderFactory.get().directBinaryEncoder(bytes, null);
      new GenericDatumWriter<GenericRecord>(value.getSchema(), GenericData.get()).write(value, encoder);
      return bytes.toByteArray();
    } catch (IOException error) {
      throw new IllegalStateException(error);
    }
  }

  private static GenericRecord reference(String id) {
    return id == null ? null : new GenericRecordBuilder(REFERENCE).set("sourcedId", id).build();
  }

  private static Long ms(String time) {
    return time == null ? null : Instant.parse(time).toEpochMilli();
  }

  private static Schema nonNull(Schema union) {
    return union.getTypes().stream().filter(type -> type.getType() != Schema.Type.NULL).findFirst().orElseThrow();
  }

  private static Schema schema(String name) {
    try {
      return new Schema.Parser().parse(Path.of("../../avro", name + ".avsc").toFile());
    } catch (IOException error) {
      throw new IllegalStateException(error);
    }
  }
}
