/// The steps of a ``ScriptedServer`` for one request, with the common sequences by name.
package struct Behaviour: Sendable, CustomStringConvertible {
    package var description: String
    var steps: [ScriptStep]

    /// - Parameter description: the text for messages.
    package init(_ description: String, _ steps: [ScriptStep]) {
        self.description = description
        self.steps = steps
    }

    /// - Parameter script: the steps of a rule, for example `read; wait 1s; answer 201`.
    package init(_ script: String) throws(ScriptError) {
        var parser = try ScriptParser(script)
        self.init(script, try parser.steps())
    }

    /// The progress of a request.
    package enum Point: Sendable {
        /// The head was read.
        case head
        /// This number of bytes of the body was read.
        case bytes(Int)
        /// The whole request was read.
        case body
        /// The whole request was read, and the head of a 200 with a body of 100 bytes was sent.
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

    /// Answers after this number of bytes of the body, and then closes the connection or reads the rest.
    package static func answerEarly(
        _ status: Int, afterBytes count: Int = 0, body: String = "", closes: Bool
    ) -> Behaviour {
        let answer = response(status, body) { if closes { $0.headers = [("Connection", "close")] } }
        return Behaviour(
            "answer \(status) after \(count) bytes\(closes ? " and close" : "")",
            [.read(upTo: count), .answer(answer)] + (closes ? [.close] : []))
    }

    /// Reads at this rate, then answers 201.
    package static func slow(bytesPerSecond rate: Int) -> Behaviour {
        Behaviour("read at \(rate)", [.read(rate: max(rate, 1)), .answer(response(201))])
    }

    /// Resets the connection.
    package static func reset(_ point: Point) -> Behaviour { Behaviour("reset at \(point)", point.steps + [.reset]) }

    /// Closes the connection.
    package static func close(_ point: Point) -> Behaviour { Behaviour("close at \(point)", point.steps + [.close]) }

    /// Neither reads nor writes any more.
    package static func hang(_ point: Point) -> Behaviour { Behaviour("hang at \(point)", point.steps + [.hang]) }

    /// Answers 200 with fewer bytes of body than announced, and closes the connection.
    package static func wrongLength(announced: Int, sent: Int) -> Behaviour {
        let answer = response(200) {
            $0.body = .filler(sent)
            $0.framing = .stated(announced)
        }
        return Behaviour("state \(announced) bytes, send \(sent)", [.read(), .answer(answer), .close])
    }

    /// Answers bytes that are not HTTP.
    package static let garbage = Behaviour(
        "answer garbage", [.read(), .send(Array("220 this is not a web server\r\n\r\n".utf8)), .close])

    /// Answers 201 and closes the connection a moment later without `Connection: close`.
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
