import Commands
import Glibc
import NIOCore
import NIOPosix
import TestSupport

/// A server to upload to that can be slow, full, closed or mute, or does what a script says, and remembers what came
/// and when.
///
/// ```
/// TestDestination ADDRESS PORT CONTROL.sock [CERTIFICATE.pem KEY.pem [CLIENT-ROOTS.pem]]
/// ```
///
/// * `PUT`, `POST` to any path: counted, not stored; 201. `Content-Range` goes on where the path stands; 416 where there
///   would be a hole. `HEAD` tells as `Content-Length` what is kept of a path, also of a body that was cut; 404 of nothing.
/// * Below `/tus`, tus 1.0 (https://tus.io/protocols/resumable-upload, core and creation): `OPTIONS`, `POST`, `HEAD`, `PATCH`.
///
/// CONTROL.sock takes JSON lines and answers each with one:
///
/// ```
/// {"ask": "statistics", "since": ns}    requests that run or ended since, with bytes in steps of 50 ms; times are of
///                                       CLOCK_MONOTONIC in nanoseconds
/// {"ask": "count", "below": "/a/"}      how many requests to such paths have begun, and how many were answered 2xx or not
/// {"ask": "files"}                      for each path: bytes kept, and SHA-256 where hashes were on from its start
/// {"change": BEHAVIOUR}                 see ``Behaviour``
/// {"script": TEXT}                      see `SCRIPT.md`; null: what the behaviour says. Replaces `firstByteDelay` and
///                                       `maxRequests`
/// {"forget": true}                      statistics and files
/// ```
@main
enum DestinationTool {
    static func main() async {
        let arguments = CommandLine.arguments
        guard [4, 6, 7].contains(arguments.count), let port = Int(arguments[2]) else {
            fail("usage: TestDestination ADDRESS PORT CONTROL.sock [CERTIFICATE.pem KEY.pem [CLIENT-ROOTS.pem]]")
        }
        do {
            var options = ScriptedServer.Options()
            options.host = arguments[1]
            options.port = port
            options.hashes = false
            options.keepsHeaders = false
            if arguments.count > 4 {
                options.identity = TestIdentity(certificate: try text(arguments[4]), key: try text(arguments[5]))
            }
            if arguments.count > 6 { options.clientRoots = try text(arguments[6]) }
            let destination = try await Destination(options)
            unlink(arguments[3])
            let control = try await ServerBootstrap(group: MultiThreadedEventLoopGroup(numberOfThreads: 1))
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(ControlHandler(destination: destination))
                    }
                }
                .bind(unixDomainSocketPath: arguments[3]).get()
            try await control.closeFuture.get()
        } catch {
            fail("\(error)")
        }
    }

    private static func text(_ path: String) throws -> String {
        guard let bytes = contents(of: path) else { throw Refusal("cannot read \(path)") }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func fail(_ sentence: String) -> Never {
        let line = Array("TestDestination: \(sentence)\n".utf8)
        _ = write(2, line, line.count)
        exit(1)
    }
}

/// Why something was not done, in a sentence.
struct Refusal: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}
