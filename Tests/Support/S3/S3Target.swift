internal import Foundation

/// The target of a request to S3, decoded.
struct S3Target {
    /// As it came.
    let path: String
    /// Decoded names and values.
    let pairs: [(name: String, value: String)]

    init(_ target: String) {
        path = String(target.prefix { $0 != "?" })
        pairs = target.dropFirst(path.count + 1).split(separator: "&").map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let value = parts.count == 2 ? String(parts[1]) : ""
            return (String(parts[0]).removingPercentEncoding ?? "", value.removingPercentEncoding ?? "")
        }
    }

    var query: [String: String] { Dictionary(pairs.map { ($0.name, $0.value) }) { first, _ in first } }

    /// The bucket of a path-style request.
    var bucket: String { String(path.dropFirst().prefix { $0 != "/" }) }

    /// The decoded key.
    var key: String { String(path.dropFirst(bucket.count + 2)).removingPercentEncoding ?? "" }
}
