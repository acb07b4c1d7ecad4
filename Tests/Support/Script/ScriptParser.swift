/// Parses one line; `SCRIPT.md` has the grammar.
struct ScriptParser {
    private var words: ArraySlice<ScriptWord>

    init(_ line: some StringProtocol) throws(ScriptError) { words = try ScriptWord.all(of: line)[...] }

    // MARK: Rules

    mutating func rule() throws(ScriptError) -> ScriptRule {
        let method = try plain("a method")
        let pattern = try plain("a pattern")
        let isPrefix = pattern.hasSuffix("*")
        var rule = ScriptRule(
            method: method == "*" ? nil : method, prefix: isPrefix ? String(pattern.dropLast()) : pattern,
            isExact: !isPrefix)
        while let word = words.popFirst() {
            if word == .plain(":") {
                rule.steps = try steps()
                return rule
            }
            guard case .plain(let name) = word else { throw error("a condition or “:” is missing before \(word.text)") }
            if name == "each" { rule.countsEachPath = true } else { rule.conditions.append(try condition(name)) }
        }
        throw error("a rule is METHOD PATTERN CONDITION… : STEP; …, and the colon stands between spaces")
    }

    private mutating func condition(_ name: String) throws(ScriptError) -> ScriptRule.Condition {
        switch name {
        case "every":
            let period = try count("a number")
            guard period > 0 else { throw error("“every” takes a number above 0") }
            return .every(period)
        case "body": return .bodyAbove(try above())
        case "active": return .activeAbove(try above())
        case "idle":
            guard take(">") else { throw error("“>” and a duration are missing") }
            return .idleAbove(try duration())
        case "with": return .with(try plain("a field name").lowercased(), value: quotedText())
        case "without": return .without(try plain("a field name").lowercased(), value: quotedText())
        default:
            guard name.hasPrefix("#"), let range = Self.numbers(name.dropFirst()) else {
                throw error("“\(name)” is not a condition")
            }
            return .numbers(range)
        }
    }

    private static func numbers(_ text: Substring) -> ClosedRange<Int>? {
        let ends = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = Int(ends[0]), first > 0 else { return nil }
        guard ends.count == 2 else { return first...first }
        if ends[1].isEmpty { return first...Int.max }
        guard let last = Int(ends[1]), last >= first else { return nil }
        return first...last
    }

    private mutating func above() throws(ScriptError) -> Int {
        guard take(">") else { throw error("“>” and a size are missing") }
        return try count("a size")
    }

    // MARK: Steps

    /// Steps up to the end of the line.
    mutating func steps() throws(ScriptError) -> [ScriptStep] {
        var steps: [ScriptStep] = []
        while true {
            if let last = steps.last, last.isLast {
                throw error("nothing can follow “close”, “reset”, “hang” or a relay")
            }
            steps.append(try step())
            guard let word = words.popFirst() else { return steps }
            guard word == .semicolon else { throw error("“\(word.text)” is not expected there") }
            if words.isEmpty { return steps }
        }
    }

    private mutating func step() throws(ScriptError) -> ScriptStep {
        let name = try plain("a step")
        switch name {
        case "read":
            if take("at") {
                let rate = try count("bytes a second")
                guard rate > 0 else { throw error("“read at” takes a rate above 0") }
                return .read(rate: rate)
            }
            return .read(upTo: sizeIfAny())
        case "discard": return .discard(try duration())
        case "wait": return .wait(try duration())
        case "interim":
            let answer = try answer()
            guard (100...199).contains(answer.status), answer.status != 101, answer.body.count == 0 else {
                throw error("an interim response has a status of 100 or 102 to 199, and no body")
            }
            return .interim(answer)
        case "answer": return .answer(try answer())
        case "send":
            guard case .quoted(let bytes)? = words.popFirst() else { throw error("“send” takes a quoted text") }
            return .send(bytes, drip: take("drip") ? try drip() : nil)
        case "store":
            let wait = take("after") ? try duration() : .zero
            return .store(after: wait, pause: take("pausing") ? try pause() : nil)
        case "tunnel": return .tunnel(try addressIfAny())
        case "forward": return .forward(try addressIfAny())
        case "idle": return .idle(try duration())
        case "close": return .close
        case "half-close": return .halfClose
        case "reset": return .reset
        case "hang": return .hang
        default: throw error("“\(name)” is not a step")
        }
    }

    private mutating func answer() throws(ScriptError) -> ScriptAnswer {
        let text = try plain("a status")
        guard text.utf8.count == 3, let status = Int(text), status >= 100 else {
            throw error("“\(text)” is not a status of three digits")
        }
        var answer = ScriptAnswer(status)
        if let reason = quotedText() { answer.reason = reason }
        while let word = words.first, word != .semicolon {
            words.removeFirst()
            switch word {
            case .plain("header"): answer.headers.append(try header())
            case .plain("fields"): answer.fields = try count("a number", upTo: 1_000_000)
            case .plain("field"): answer.longField = try count("a size", upTo: 1 << 30)
            case .plain("body"):
                if case .quoted(let bytes)? = words.first {
                    words.removeFirst()
                    answer.body = .text(bytes)
                } else {
                    answer.body = .filler(try count("a text or a size"))
                }
            case .plain("length"): answer.framing = take("none") ? .none : .stated(try count("a length or “none”"))
            case .plain("chunked"): answer.framing = .chunked(isEnded: true)
            case .plain("unended"): answer.framing = .chunked(isEnded: false)
            case .plain("drip"):
                switch try plain("“head” or “body”") {
                case "head": answer.headDrip = try drip()
                case "body": answer.bodyDrip = try drip()
                default: throw error("“drip” is followed by “head” or “body”")
                }
            default: throw error("“\(word.text)” is not a part of a response")
            }
        }
        return answer
    }

    private mutating func header() throws(ScriptError) -> (name: String, value: String) {
        guard let text = quotedText(), let colon = text.firstIndex(of: ":") else {
            throw error("“header” takes a quoted \"NAME: VALUE\"")
        }
        return (String(text[..<colon]), String(text[text.index(after: colon)...].drop { $0 == " " }))
    }

    private mutating func drip() throws(ScriptError) -> ScriptDrip {
        let size = try count("a size")
        guard size > 0, take("every") else { throw error("a drip is SIZE every DURATION, with a SIZE above 0") }
        return ScriptDrip(size: size, interval: try duration())
    }

    private mutating func pause() throws(ScriptError) -> ScriptPause {
        let length = try duration()
        guard take("every") else { throw error("“every” and a size are missing") }
        let size = try count("a size")
        guard size > 0 else { throw error("“pausing” takes a size above 0") }
        return ScriptPause(size: size, length: length)
    }

    // MARK: Words

    private func error(_ problem: String) -> ScriptError { ScriptError(line: 0, problem: problem) }

    private mutating func plain(_ what: String) throws(ScriptError) -> String {
        guard case .plain(let word)? = words.popFirst() else { throw error("\(what) is missing") }
        return word
    }

    private mutating func take(_ word: String) -> Bool {
        guard words.first == .plain(word) else { return false }
        words.removeFirst()
        return true
    }

    private mutating func quotedText() -> String? {
        guard case .quoted(let bytes)? = words.first else { return nil }
        words.removeFirst()
        return String(decoding: bytes, as: UTF8.self)
    }

    private mutating func count(_ what: String, upTo limit: Int = .max) throws(ScriptError) -> Int {
        let word = try plain(what)
        guard let size = Self.size(word), size <= limit else { throw error("“\(word)” is not \(what)") }
        return size
    }

    private mutating func sizeIfAny() -> Int? {
        guard case .plain(let word)? = words.first, let size = Self.size(word) else { return nil }
        words.removeFirst()
        return size
    }

    private mutating func addressIfAny() throws(ScriptError) -> ScriptAddress? {
        guard case .plain(let word)? = words.first else { return nil }
        words.removeFirst()
        guard let address = ScriptAddress(word) else { throw error("“\(word)” is not HOST:PORT") }
        return address
    }

    private static func size(_ word: String) -> Int? {
        let shifts = ["k": 10, "M": 20, "G": 30]
        let shift = word.last.flatMap { shifts[String($0)] }
        guard let number = Int(shift == nil ? word[...] : word.dropLast()), number >= 0, number <= 1 << 32 else {
            return nil
        }
        return number << (shift ?? 0)
    }

    private mutating func duration() throws(ScriptError) -> Duration {
        let word = try plain("a duration")
        let unit = word.drop { $0.isASCII && $0.isNumber }
        guard let number = Int64(word.dropLast(unit.count)), number <= 1 << 32 else {
            throw error("“\(word)” is not a duration, as “100ms”")
        }
        switch unit {
        case "us": return .microseconds(number)
        case "ms": return .milliseconds(number)
        case "s": return .seconds(number)
        case "m": return .seconds(number * 60)
        default: throw error("“\(word)” is not a duration, as “100ms”")
        }
    }
}
