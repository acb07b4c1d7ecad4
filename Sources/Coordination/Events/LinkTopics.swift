internal import Commands
internal import NetworkControl

/// The links whose events monitors have subscribed to. Pure.
///
/// A monitor that needs one link subscribes to its whole topic, with the space behind it (`link/http://a:80 `), and costs the
/// reports of that link only.
struct LinkTopics: Sendable, Equatable {
    private static let kind = Array("link/".utf8)

    /// Every link is wanted.
    private(set) var hasAll = false
    /// The names of links whose whole topics are subscribed.
    private(set) var names: Set<String> = []
    /// Beginnings of the names of links.
    private(set) var beginnings: Set<[UInt8]> = []

    /// - Parameter prefixes: of topics of any kind.
    init(_ prefixes: some Sequence<[UInt8]> = []) {
        for prefix in prefixes {
            if Self.kind.starts(with: prefix) {
                hasAll = true
            } else if prefix.starts(with: Self.kind) {
                add(prefix.dropFirst(Self.kind.count))
            }
        }
    }

    private mutating func add(_ text: ArraySlice<UInt8>) {
        // libzmq compares what a subscription has behind the topic with the body of the event.
        if let end = text.firstIndex(of: UInt8(ascii: " ")) {
            names.insert(String(decoding: text[..<end], as: UTF8.self))
        } else {
            beginnings.insert(Array(text))
        }
    }

    var isEmpty: Bool { self == LinkTopics() }

    /// - Parameter name: of a link (``LinkKey/name``).
    func contains(_ name: String) -> Bool {
        hasAll || names.contains(name) || beginnings.contains { name.utf8.starts(with: $0) }
    }

    /// The wanted links, in the order of their names and directions.
    /// - Parameter all: every link; called where the topics do not name the wanted ones. Where they do, links that do not exist
    ///   are among the keys.
    func keys(of all: () -> [LinkKey]) -> [LinkKey] {
        let isNamed = !hasAll && beginnings.isEmpty
        let keys =
            isNamed
            ? names.flatMap { [LinkKey(name: $0, .up), LinkKey(name: $0, .down)] }
            : all().filter { contains($0.name) }
        return keys.map { ($0.name, $0) }.sorted { ($0.0, $0.1.direction.rawValue) < ($1.0, $1.1.direction.rawValue) }
            .map(\.1)
    }
}
