/// What a ``ScriptedServer`` does with one request: the steps of a script, and the usual ones by name.
package struct Behaviour: Sendable, CustomStringConvertible {
    package var description: String
    var steps: [ScriptStep]

    /// - Parameter description: for messages.
    package init(_ description: String, _ steps: [ScriptStep]) {
        self.description = description
        self.steps = steps
    }

    /// - Parameter script: the steps of a rule, as `read; wait 1s; answer 201`.
    package init(_ script: String) throws(ScriptError) {
        var parser = try ScriptParser(script)
        self.init(script, try parser.steps())
    }

    /// How far a request has come.
    package enum Point: Sendable {
        /// Its head was read.
        case head
        /// So many bytes of its body were read.
        case bytes(Int)
        /// All of it was read.
        case body
        /// All of it was read, and the head of a 200 with a body of 100 bytes was answered.
        case answerHead

        fileprivate var steps: [ScriptStep] {
            switch self {
            case .head: []
            case .bytes(let count): [.read(upTo: count)]
            case .body: [.read()]
            case .answerHead: [.read(), .answer(response(200) { $0.framing = .stated(100) })]
            }
        }
    }

    /// Reads the request, then answers.
    package static func answer(_ status: Int, headers: [String: String] = [:], body: String = "") -> Behaviour {
        let answer = response(status, body) {
            $0.headers = headers.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        }
        return Behaviour("answer \(status) \(headers) \(body.prefix(40))", [.read(), .answer(answer)])
    }

    /// Answers as soon as so many bytes of the body were read, and then closes or reads on.
    package static func answerEarly(
        _ status: Int, afterBytes count: Int = 0, body: String = "", closes: Bool
    ) -> Behaviour {
        let answer = response(status, body) { if closes { $0.headers = [("Connection", "close")] } }
        return Behaviour(
            "answer \(status) after \(count) bytes\(closes ? " and close" : "")",
            [.read(upTo: count), .answer(answer)] + (closes ? [.close] : []))
    }

    /// Reads no faster than this, then answers 201.
    package static func slow(bytesPerSecond rate: Int) -> Behaviour {
        Behaviour("read at \(rate)", [.read(rate: max(rate, 1)), .answer(response(201))])
    }

    /// Ends the connection with a reset.
    package static func reset(_ point: Point) -> Behaviour { Behaviour("reset at \(point)", point.steps + [.reset]) }

    /// Closes the connection.
    package static func close(_ point: Point) -> Behaviour { Behaviour("close at \(point)", point.steps + [.close]) }

    /// Neither reads nor writes from here on.
    package static func hang(_ point: Point) -> Behaviour { Behaviour("hang at \(point)", point.steps + [.hang]) }

    /// Answers 200 with fewer bytes of body than it announced, and closes.
    package static func wrongLength(announced: Int, sent: Int) -> Behaviour {
        let answer = response(200) {
            $0.body = .filler(sent)
            $0.framing = .stated(announced)
        }
        return Behaviour("state \(announced) bytes, send \(sent)", [.read(), .answer(answer), .close])
    }

    /// Answers something that is not HTTP.
    package static let garbage = Behaviour(
        "answer garbage", [.read(), .send(Array("220 this is no web server\r\n\r\n".utf8)), .close])

    /// Answers 201 and closes the connection a moment later without having said so.
    package static let answerAndClose = Behaviour("answer 201, close", [.read(), .answer(response(201)), .close])
}

private func response(
    _ status: Int, _ body: String = "", _ change: (inout ScriptAnswer) -> Void = { _ in }
) -> ScriptAnswer {
    var answer = ScriptAnswer(status)
    answer.body = .text(Array(body.utf8))
    change(&answer)
    return answer
}
