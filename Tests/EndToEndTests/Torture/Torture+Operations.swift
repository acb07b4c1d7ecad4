import Commands
import Foundation
import TestSupport

/// Commands of the types beside noop and upload.
extension Torture {
    enum OtherOperation: CaseIterable {
        case download, exec, fetch, put, post, sync, webhook

        var type: String {
            switch self {
            case .download: "download"
            case .exec: "exec"
            case .fetch: "fetch"
            case .put, .post: "request"
            case .sync: "sync"
            case .webhook: "webhook"
            }
        }

        /// Of one submission. Programs take a process each, and syncs of a collection run one after the other.
        var maxCount: Int {
            switch self {
            case .exec, .sync: 12
            case .download, .fetch, .put, .post, .webhook: 60
            }
        }
    }

    private static let size = 64 << 10
    /// Signs the messages of webhooks.
    static let secret = "whsec_c2x1aWNlLXRlc3Qta2V5LW9mLTMyLWJ5dGVzLWxvbmc="

    /// Lets the server answer GET and refuse the first delivery of some messages, and the workers sign
    /// messages and run a program that adds a line to a file.
    func prepareOperations(data: String) throws {
        try receiver.run(
            """
            GET /get/* : answer 200 header "ETag: \\"1\\"" body 64k
            POST /hook/late/* each #1 : read; answer 500
            POST /hook/* : read; wait 5ms; answer 201
            GET /list/* : answer 200 header "Content-Type: application/json" body "[{\\"id\\":1},{\\"id\\":2}]"
            """)
        let secret = "\(data)/hooks.whsec"
        try Data(Self.secret.utf8).write(to: URL(fileURLWithPath: secret))
        chmod(secret, 0o600)
        let yaml = """
            webhooks: [hooks]
            webhook: {hooks: {origin: "\(receiver.origin)", secretFiles: [\(secret)]}}
            exec: {enabled: true}
            programs: [append]
            program:
              append: {path: /usr/bin/dash, arguments: [-c, 'echo $SLUICE_COMMAND >> "$0"; sleep 0.02', \(runs)]}
            \(routes)
            """
        let path = "\(data)/sluice.yaml"
        try Data(yaml.utf8).write(to: URL(fileURLWithPath: path))
        chmod(path, 0o600)
    }

    /// A line for each run of the program: the UUID of its command.
    var runs: String { "\(copies)/runs" }

    /// - Parameter number: a number that no other command has.
    func command(
        _ operation: OtherOperation, _ number: Int, _ quality: String
    ) -> (line: String, kind: TortureLedger.Entry.Kind) {
        let origin = receiver.origin
        func line(_ payload: String) -> String { #"{"payload":\#(payload),"qos":"\#(quality)"}"# }
        switch operation {
        case .download:
            let path = "\(copies)/get-\(number)"
            return (
                line(#"{"url":"\#(origin)/get/\#(number)","to":"\#(path)"}"#),
                .copy(path: path, sha256: sha256([UInt8](repeating: UInt8(ascii: "x"), count: Self.size)))
            )
        case .exec: return (line(#"{"program":"append"}"#), .program)
        case .fetch: return (line(#"{"url":"\#(origin)/get/\#(number % 100)"}"#), .noop)
        case .put, .post:
            let isPut = operation == .put
            let path = "\(isPut ? "/put/" : "/post/")\(number)"
            let method = isPut ? "PUT" : "POST"
            return (
                line(#"{"url":"\#(origin)\#(path)","method":"\#(method)","body":"request \#(number)"}"#),
                isPut ? .put(path: path, sha256: sha256(Array("request \(number)".utf8))) : .post(path: path)
            )
        case .webhook:
            // Another attempt follows a refusal after 5 s.
            let path = number % 8 == 0 ? "/hook/late/\(number)" : "/hook/\(number)"
            return (
                line(#"{"url":"\#(origin)\#(path)","body":"message \#(number)"}"#),
                .webhook(path: path, body: "message \(number)")
            )
        case .sync:
            return (line(#"{"url":"\#(origin)/list/\#(number)","collection":"list-\#(number % 5)"}"#), .noop)
        }
    }
}
