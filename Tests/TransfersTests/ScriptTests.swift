import TestSupport
import Testing

/// The script language of test servers.
@Suite struct ScriptTests {
    @Test(arguments: [
        "PUT /a", "PUT", "PUT /a: answer 201", "PUT /a : ", "PUT /a : jump", "PUT /a #0 : read", "PUT /a #5-2 : read",
        "PUT /a every 0 : read", "PUT /a body 5 : read", "PUT /a : answer", "PUT /a : answer 20", "PUT /a : answer abc",
        "PUT /a : answer 201 header Name", "PUT /a : answer 201 header \"Name\"", "PUT /a : answer 201 \"x",
        "PUT /a : answer 201 body \"\\q\"", "PUT /a : wait 5", "PUT /a : wait s", "PUT /a : wait 99999999999999s",
        "PUT /a : close; read", "PUT /a : read at 0", "PUT /a : send text", "PUT /a : send \"a\" drip 0 every 1s",
        "PUT /a : interim 201", "PUT /a : interim 101", "PUT /a : tunnel nowhere",
        "PUT /a : answer 201 drip tail 1 every 1s",
        "PUT /a : answer 201 body 999999999999G", "PUT /a : store pausing 1s", "PUT /a : store pausing 1s every 0",
    ])
    func `an invalid line is an error that names it`(_ line: String) {
        let error = #expect(throws: ScriptError.self) { try Script(parsing: "# a comment\n\n\(line)\n") }
        #expect(error?.line == 3)
        #expect(error?.problem.isEmpty == false)
    }

    @Test(.enabled(if: runsSlowTests, "slow")) func `random bytes are refused or understood, and never trap`() {
        var random = SeededRandom.announced("random scripts")
        let words = [
            "PUT", "*", "/a", "#1-3", "every", "2", "body", ">", "1k", ":", ";", "read", "at", "answer", "201",
            "header",
            "\"A: b\"", "drip", "head", "chunked", "length", "none", "close", "\"", "\\", "{", "5s", "-1", "fields",
        ]
        for _ in RandomRounds("random scripts", 2000...20_000) {
            let line = (0..<random.number(in: 1..<14)).map { _ in words[random.number(in: 0..<words.count)] }
            _ = try? Script(parsing: line.joined(separator: random.chance(0.9) ? " " : ""))
            _ = try? Script(parsing: String(decoding: random.bytes(20), as: UTF8.self))
        }
    }
}
