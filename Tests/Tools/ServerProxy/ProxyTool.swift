import Glibc
import TestSupport

/// Runs a ``ServerProxy`` by hand; see ``usage``.
@main
enum ProxyTool {
    static let usage = """
        usage: ServerProxy LISTEN SERVER [FAULT | --seed N [--max-bytes N]]

        Forwards connections to a PostgreSQL server, each with the same fault, or with random ones.

        LISTEN, SERVER   a port of 127.0.0.1, or the path of a Unix socket
        FAULT            ACTION@TRIGGER
          ACTION         close, reset (RST), half-open (forwards nothing more), delay=MILLISECONDS
          TRIGGER        to-server+BYTES, to-client+BYTES: after this number of bytes in that direction;
                         commit: instead of the answer to COMMIT (without TLS)
        --seed N         random faults of this seed; one in four connections has none
        --max-bytes N    the maximum of their BYTES (default 20000)

        It prints a line for each fault, and runs until it is interrupted.

        examples:
          ServerProxy 15432 5432 close@commit
          ServerProxy /tmp/proxy/.s.PGSQL.5432 /var/run/postgresql/.s.PGSQL.5432 delay=20@to-client+0
          ServerProxy 15432 5432 --seed 7
          psql 'postgres://me@127.0.0.1:15432/postgres'
        """

    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        if arguments.contains("--help") || arguments.contains("-h") { return print(usage) }
        guard arguments.count >= 2, let listen = address(arguments[0]), let server = address(arguments[1]),
            let fault = faults(Array(arguments.dropFirst(2)))
        else { fail(usage, code: 64) }
        do {
            let proxy = try ServerProxy(to: server, at: listen) { number in
                let chosen = fault(number)
                print("connection \(number): \(chosen.map { "\($0)" } ?? "no fault")")
                fflush(nil)
                return chosen
            }
            print("ready: \(proxy.address)")
            fflush(nil)
            while true { pause() }
        } catch {
            fail("ServerProxy: \(error)", code: 1)
        }
    }

    private static func address(_ text: String) -> ServerProxy.Address? {
        if text.hasPrefix("/") { return .socket(path: text) }
        return Int(text).flatMap { (0...65_535).contains($0) ? .loopback(port: $0) : nil }
    }

    /// - Returns: the fault by the number of a connection; nil for arguments that cannot be read.
    private static func faults(_ arguments: [String]) -> (@Sendable (Int) -> ProxyFault?)? {
        if arguments.isEmpty { return { _ in nil } }
        if arguments.count == 1, let fault = ProxyFault(arguments[0]) { return { _ in fault } }
        var (seed, maxBytes) = (UInt64?.none, 20_000)
        var rest = arguments[...]
        while let name = rest.popFirst() {
            guard let value = rest.popFirst() else { return nil }
            switch name {
            case "--seed": seed = UInt64(value)
            case "--max-bytes": maxBytes = Int(value) ?? -1
            default: return nil
            }
        }
        guard let seed, maxBytes > 0 else { return nil }
        let bound = maxBytes
        return { number in
            var random = SeededRandom(seed: seed &+ UInt64(number))
            return random.chance(0.25) ? nil : .random(maxBytes: bound, using: &random)
        }
    }

    private static func fail(_ text: String, code: CInt) -> Never {
        let line = Array("\(text)\n".utf8)
        _ = write(2, line, line.count)
        exit(code)
    }
}
