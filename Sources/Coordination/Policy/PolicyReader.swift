internal import Configuration
internal import NetworkControl

/// Reads values strictly: what is there and cannot be used is an error that names the key, where the library's own methods
/// fall back to the default. Remembers what was asked for, so that a key that nobody reads can be refused.
struct PolicyReader {
    let configuration: ConfigReader
    private(set) var known: Set<String> = []

    init(_ configuration: ConfigReader) { self.configuration = configuration }

    /// Keys that somebody else reads.
    mutating func allow(_ path: [String]) { known.insert(path.joined(separator: ".")) }

    mutating func text(_ path: [String]) throws(PolicyError) -> String? {
        allow(path)
        let key = ConfigKey(path)
        if let text = configuration.string(forKey: key) { return text }
        guard configuration.stringArray(forKey: key) == nil else {
            throw PolicyError(key: path.joined(separator: "."), problem: "takes one value, not a list")
        }
        return nil
    }

    mutating func list(_ path: [String]) throws(PolicyError) -> [String] {
        allow(path)
        let key = ConfigKey(path)
        if let list = configuration.stringArray(forKey: key) { return list }
        guard let text = configuration.string(forKey: key), !text.isEmpty else { return [] }
        throw PolicyError(key: path.joined(separator: "."), problem: "takes a list such as [\(text)]")
    }

    /// - Parameters:
    ///   - what: it takes, as in “takes seconds such as 2.5”.
    ///   - parse: nil where the text makes no sense.
    mutating func value<Value>(
        _ path: [String], takes what: String, parse: (String) -> Value?
    ) throws(PolicyError) -> Value? {
        guard let text = try text(path) else { return nil }
        guard let value = parse(text) else {
            throw PolicyError(key: path.joined(separator: "."), problem: "takes \(what), not “\(text)”")
        }
        return value
    }

    // MARK: Kinds of values

    mutating func read(_ value: inout Int, _ path: [String]) throws(PolicyError) {
        value = try self.value(path, takes: "a whole number") { Int($0) } ?? value
    }

    mutating func read(_ value: inout Bool, _ path: [String]) throws(PolicyError) {
        let words = ["true": true, "yes": true, "on": true, "false": false, "no": false, "off": false]
        value = try self.value(path, takes: "true or false") { words[$0.lowercased()] } ?? value
    }

    /// Plain seconds, as everywhere in the file.
    mutating func read(_ value: inout Duration, _ path: [String]) throws(PolicyError) {
        value =
            try self.value(path, takes: "seconds such as 2.5") { text in
                Self.number(text).flatMap { $0 >= 0 && $0 < 1e9 ? .milliseconds(Int64(($0 * 1000).rounded())) : nil }
            } ?? value
    }

    /// A factor.
    mutating func read(_ value: inout Double, _ path: [String]) throws(PolicyError) {
        value = try self.value(path, takes: "a number") { Self.number($0) } ?? value
    }

    /// `0.2` or `20%`.
    mutating func readShare(_ value: inout Double, _ path: [String]) throws(PolicyError) {
        value =
            try self.value(path, takes: "a share such as 0.2 or 20%") { text in
                text.hasSuffix("%") ? Self.number(String(text.dropLast())).map { $0 / 100 } : Self.number(text)
            } ?? value
    }

    /// `5` or `5%`.
    mutating func readPercent(_ value: inout Int, _ path: [String]) throws(PolicyError) {
        value =
            try self.value(path, takes: "percent such as 5%") { Int($0.hasSuffix("%") ? String($0.dropLast()) : $0) }
            ?? value
    }

    mutating func readRate(_ value: inout Int64, _ path: [String]) throws(PolicyError) {
        value = try rate(path) ?? value
    }

    mutating func rate(_ path: [String]) throws(PolicyError) -> Int64? {
        try value(path, takes: "a rate such as \(RateText.examples)") { RateText.bytesPerSecond($0) }
    }

    private static func number(_ text: String) -> Double? {
        guard let number = Double(text), number.isFinite else { return nil }
        return number
    }

    // MARK: Keys

    /// - Parameter keys: that are there, such as `network.level.good.limit`.
    /// - Throws: ``PolicyError`` for the first that nothing reads.
    func refuseUnknown(_ keys: [String]) throws(PolicyError) {
        for key in keys.sorted() where !known.contains(key) {
            let path = key.split(separator: ".", omittingEmptySubsequences: false)
            // What may stand behind the longest part of it that means something.
            let choices = (0..<path.count).reversed().lazy.map { names(below: path.prefix($0)) }.first { !$0.isEmpty }
            let isListed = path[0] != "destination" || path.count < 2 || !names(below: path.prefix(2)).isEmpty
            throw PolicyError(
                key: key,
                problem: isListed
                    ? "is not known; there are \(choices?.joined(separator: ", ") ?? "none")"
                    : "its section has a name that is not in the list destinations")
        }
    }

    /// - Parameter variables: of the environment.
    /// - Throws: ``PolicyError`` for the first below `network` or `destination` that nothing reads.
    func refuseUnknown(variables: [String]) throws(PolicyError) {
        let names = Set(known.map(Self.variable))
        let own = variables.filter { $0.hasPrefix("SLUICE_NETWORK_") || $0.hasPrefix("SLUICE_DESTINATION_") }
        for name in own.sorted() where !names.contains(name) {
            throw PolicyError(
                key: name,
                problem: "no key has this variable; that of network.maxTransfers is "
                    + Self.variable("network.maxTransfers"))
        }
    }

    /// As the library names it: `network.maxTransfers` is `SLUICE_NETWORK_MAX_TRANSFERS`.
    private static func variable(_ key: String) -> String {
        var name = "SLUICE_"
        var last: Character?
        for character in key {
            if character.isUppercase, last?.isLowercase ?? false { name += "_" }
            name += character.isLetter || character.isNumber ? character.uppercased() : "_"
            last = character
        }
        return name
    }

    private func names(below path: ArraySlice<Substring>) -> [Substring] {
        let prefix = path.map { "\($0)." }.joined()
        return Set(known.filter { $0.hasPrefix(prefix) }.map { $0.dropFirst(prefix.count).prefix { $0 != "." } })
            .sorted()
    }
}
