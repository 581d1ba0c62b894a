package rollcall.join;

import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.avro.Schema;
import org.apache.kafka.common.errors.SerializationException;

/** Confluent's registry API, as far as {@link Schemas} needs it. Answers are kept: a schema never changes under its id. */
final class RegistryClient implements Schemas {
  private static final Duration TIMEOUT = Duration.ofSeconds(30);
  private static final int CONFLICT = 409;
  private static final String JSON = "application/vnd.schemaregistry.v1+json";

  private final HttpClient http = HttpClient.newBuilder().connectTimeout(TIMEOUT).build();
  private final ObjectMapper json = new ObjectMapper();
  private final Map<Integer, Schema> schemas = new ConcurrentHashMap<>();
  private final Map<String, Integer> ids = new ConcurrentHashMap<>();
  private final String url;

  /** `url`: base URL of the Confluent-compatible API. */
  RegistryClient(String url) {
    this.url = url.replaceAll("/+$", "");
  }

  @Override
  public Schema byId(int id) {
    return schemas.computeIfAbsent(
        id, each -> new Schema.Parser().parse(ask(request("/schemas/ids/" + each).GET()).get("schema").asText()));
  }

  @Override
  public int idOf(String subject, Schema schema) {
    return ids.computeIfAbsent(
        subject + "\n" + schema,
        each -> {
          String body = json.createObjectNode().put("schema", schema.toString()).toString();
          String path = "/subjects/" + URLEncoder.encode(subject, StandardCharsets.UTF_8) + "/versions";
          var registration = request(path).POST(HttpRequest.BodyPublishers.ofString(body));
          HttpResponse<String> answer = send(registration);
          // Some registries refuse all but one of those that register a schema at once, and then know it.
          if (answer.statusCode() == CONFLICT) answer = send(registration);
          return read(answer).get("id").asInt();
        });
  }

  private HttpRequest.Builder request(String path) {
    return HttpRequest.newBuilder(URI.create(url + path))
        .timeout(TIMEOUT)
        .header("Accept", JSON)
        .header("Content-Type", JSON);
  }

  private JsonNode ask(HttpRequest.Builder builder) {
    return read(send(builder));
  }

  private HttpResponse<String> send(HttpRequest.Builder builder) {
    HttpRequest request = builder.build();
    try {
      return http.send(request, HttpResponse.BodyHandlers.ofString());
    } catch (IOException error) {
      throw new SerializationException("the schema registry does not answer " + request.uri(), error);
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      throw new SerializationException("interrupted while asking the schema registry", error);
    }
  }

  private JsonNode read(HttpResponse<String> answer) {
    if (answer.statusCode() != 200) {
      String advice =
          answer.statusCode() == CONFLICT
              ? "the subject has a schema that is not compatible"
              : "check ROLLCALL_REGISTRY_URL";
      throw new SerializationException(
          "the schema registry answered " + answer.statusCode() + " to " + answer.uri() + ": " + advice);
    }
    try {
      return json.readTree(answer.body());
    } catch (JsonProcessingException error) {
      throw new SerializationException("the schema registry answered " + answer.uri() + " with no JSON", error);
    }
  }
}
