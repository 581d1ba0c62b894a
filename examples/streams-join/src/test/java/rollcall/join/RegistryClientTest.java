package rollcall.join;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import org.apache.avro.Schema;
import org.apache.kafka.common.errors.SerializationException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

final class RegistryClientTest {
  private static final Schema TEXT = Schema.create(Schema.Type.STRING);

  /** The status codes of the next answers. */
  private final Deque<Integer> codes = new ArrayDeque<>();
  private HttpServer server;
  private RegistryClient registry;

  @BeforeEach
  void open() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/",
        exchange -> {
          byte[] body = "{\"id\":7}".getBytes(StandardCharsets.UTF_8);
          exchange.sendResponseHeaders(codes.remove(), body.length);
          exchange.getResponseBody().write(body);
          exchange.close();
        });
    server.start();
    registry = new RegistryClient("http://127.0.0.1:" + server.getAddress().getPort() + "/");
  }

  @AfterEach
  void close() {
    server.stop(0);
  }

  @Test
  void anInstanceThatIsRefusedBecauseAnotherRegistersTheSameSchemaAtOnceAsksAgain() {
    codes.addAll(List.of(409, 200));
    assertEquals(7, registry.idOf("topic-value", TEXT));
    assertTrue(codes.isEmpty());
    assertEquals(7, registry.idOf("topic-value", TEXT));
  }

  @Test
  void aSchemaThatIsRefusedTwiceAndAnyOtherAnswerAreErrorsThatSayWhatToDo() {
    codes.addAll(List.of(409, 409));
    var refused = assertThrows(SerializationException.class, () -> registry.idOf("topic-value", TEXT));
    assertTrue(refused.getMessage().contains("not compatible"), refused.getMessage());
    codes.add(404);
    var unknown = assertThrows(SerializationException.class, () -> registry.byId(7));
    assertTrue(unknown.getMessage().contains("check ROLLCALL_REGISTRY_URL"), unknown.getMessage());
    assertTrue(codes.isEmpty());
  }
}
