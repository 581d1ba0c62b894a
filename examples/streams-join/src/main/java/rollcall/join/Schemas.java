package rollcall.join;

import org.apache.avro.Schema;

/** The part of a schema registry that a serde needs. */
interface Schemas {
  /** Returns the schema with that id. */
  Schema byId(int id);

  /** Registers a schema if the subject does not have it, and returns its id. */
  int idOf(String subject, Schema schema);
}
