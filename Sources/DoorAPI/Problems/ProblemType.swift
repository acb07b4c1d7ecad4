/// A type of the problem documents of the door, as its page explains it.
struct ProblemType: Sendable, Equatable {
    /// The last part of its URL.
    let name: String
    /// The event.
    let meaning: String
    /// The next step of a client.
    let remedy: String

    init(_ name: String, _ meaning: String, _ remedy: String) {
        self.name = name
        self.meaning = meaning
        self.remedy = remedy
    }

    /// The type as words, as in `title` of its documents.
    var title: String {
        let words = name.split(separator: "-").joined(separator: " ")
        return words.prefix(1).uppercased() + words.dropFirst()
    }

    /// Every type, by area.
    static let all = http + access + commands + uploads

    static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })
}
