import Commands
import Glibc
import NIOCore
import NIOPosix
import TestSupport

/// A destination of uploads that can be slow, full, closed or mute, or runs a script, and records its
/// requests.
///
/// ```
/// TestDestination ADDRESS PORT CONTROL.sock [CERTIFICATE.pem KEY.pem [CLIENT-ROOTS.pem]]
/// ```
///
/// * `PUT`, `POST` to any path: counts the body without storing it, and answers 201. `Content-Range` continues at the kept
///   size of the path; a hole gives 416. `HEAD` answers the kept size as `Content-Length`, also after an interrupted body;
///   404 for an unknown path.
/// * Below `/tus`, tus 1.0 (https://tus.io/protocols/resumable-upload, core and creation): `OPTIONS`, `POST`, `HEAD`, `PATCH`.
///
/// CONTROL.sock takes JSON lines and answers each with one:
///
/// ```
/// {"ask": "statistics", "since": ns}    the requests that run or ended after a time (nanoseconds of CLOCK_MONOTONIC),
///                                       with their bytes in steps of 50 ms
/// {"ask": "count", "below": "/a/"}      the number of requests to paths with the prefix: begun, answered 2xx, or other
/// {"ask": "files"}                      the kept bytes of each path, and SHA-256 if hashes were on from the start
/// {"change": BEHAVIOUR}                 changes faults; see ``Behaviour``
/// {"script": TEXT}                      replaces `firstByteDelay` and `maxRequests`; see `SCRIPT.md`; null removes it
/// {"forget": true}                      forgets statistics and files
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
