import com.amazonaws.services.dynamodbv2.local.server.LocalDynamoDBRequestHandler;
import com.amazonaws.services.dynamodbv2.local.server.LocalDynamoDBServerHandler;
import java.net.InetSocketAddress;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

/**
 * DynamoDB Local in memory, on a free port of 127.0.0.1, which it prints. Its own main class listens on every
 * interface and sends telemetry. It ends when its standard input does, so it never outlives the tests.
 */
public final class Loopback {
    private static final boolean IN_MEMORY = true;
    private static final boolean ONE_DATABASE_FOR_ALL_CREDENTIALS = true;
    private static final boolean SLOW_TABLE_STATES = false;

    public static void main(String[] arguments) throws Exception {
        var requests =
                new LocalDynamoDBRequestHandler(
                        0, IN_MEMORY, null, ONE_DATABASE_FOR_ALL_CREDENTIALS, SLOW_TABLE_STATES);
        var server = new Server(new InetSocketAddress("127.0.0.1", 0));
        server.setHandler(new LocalDynamoDBServerHandler(requests, null));
        server.start();
        System.out.println(((ServerConnector) server.getConnectors()[0]).getLocalPort());
        while (System.in.read() >= 0) {}
        System.exit(0);
    }
}
