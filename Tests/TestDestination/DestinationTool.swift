import CLinux
import Commands
import Glibc
import NIOCore
import NIOPosix

/// A place to upload to that can be slow, full, closed or mute, and remembers what came and when.
///
/// ```
/// TestDestination ADDRESS PORT CONTROL.sock
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
/// {"ask": "files"}                      for each path: bytes kept, and SHA-256 where hashes were on from its start
/// {"change": BEHAVIOUR}                 see ``Behaviour``
/// {"forget": true}                      statistics and files
/// ```
@main
enum DestinationTool {
    static func main() async {
        let arguments = CommandLine.arguments
        guard arguments.count == 4, let port = Int(arguments[2]) else {
            fail("usage: TestDestination ADDRESS PORT CONTROL.sock")
        }
        do {
            // One thread: everything here happens on it.
            let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
            let place = Place(address: arguments[1], port: port, group: group)
            try await place.open()
            unlink(arguments[3])
            let control = try await ServerBootstrap(group: group)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(ControlHandler(place: place))
                    }
                }
                .bind(unixDomainSocketPath: arguments[3]).get()
            try await control.closeFuture.get()
        } catch {
            fail("\(error)")
        }
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
