import Commands
import Operations
import Testing

@testable import Exec

@Suite struct ExecPayloadTests {
    private func payload(_ text: String) throws -> ExecPayload { try ExecPayload(try JSONValue(parsing: text.utf8)) }

    @Test func `a payload has the documented defaults`() throws {
        let payload = try payload(#"{"program":"a"}"#)
        #expect(payload.arguments.isEmpty && payload.input == .none && payload.environment.isEmpty)
        #expect(payload.timeout == .seconds(3600) && payload.idleTimeout == nil && payload.grace == .seconds(10))
        #expect(!payload.isIdempotent && payload.directory == nil && payload.values.isEmpty)
        #expect(payload.output == payload.error && payload.output.keep == .tail && payload.output.limit == 65_536)
    }

    @Test(arguments: [
        #"{"program":"a"}"#,
        #"{"program":"a","arguments":["-i","; rm -rf /",""],"stdin":"x","environment":{"A":"1"},"directory":"/in/b","#
            + #""timeout":0,"idleTimeout":1.5,"grace":0.25,"idempotent":true,"#
            + #""stdout":{"keep":"head","limit":0,"to":"/in/l"},"#
            + #""stderr":{"limit":1048576},"values":{"k":[1]}}"#,
        #"{"program":"a","stdinFile":"/in/a","stdin":null,"directory":null}"#,
    ])
    func `the canonical form reads as the same payload`(_ text: String) throws {
        let first = try payload(text)
        #expect(try ExecPayload(first.json) == first)
        #expect(try ExecPayload(first.json).json == first.json)
    }

    @Test(arguments: [
        ("[]", "object"), ("{}", "“program” is missing"), (#"{"program":1}"#, "program"),
        (#"{"program":""}"#, "program"),
        (#"{"program":"a","path":"/bin/sh"}"#, "unknown key “path”"),
        (#"{"program":"a","arguments":"-i"}"#, "array"), (#"{"program":"a","arguments":[1]}"#, "strings"),
        (#"{"program":"a","arguments":["a\u0000b"]}"#, "zero byte"),
        (#"{"program":"a","stdin":1}"#, "stdin"), (#"{"program":"a","stdinFile":"in"}"#, "absolute"),
        (#"{"program":"a","stdin":"x","stdinFile":"/in"}"#, "exclude each other"),
        (#"{"program":"a","environment":[]}"#, "object"), (#"{"program":"a","environment":{"A":1}}"#, "string"),
        (#"{"program":"a","environment":{"LD_PRELOAD":"x"}}"#, "LD_PRELOAD"),
        (#"{"program":"a","environment":{"A":"\u0000"}}"#, "zero byte"),
        (#"{"program":"a","directory":"../x"}"#, "absolute"), (#"{"program":"a","directory":"/in/../etc"}"#, "“..”"),
        (#"{"program":"a","timeout":-1}"#, "timeout"), (#"{"program":"a","timeout":2592001}"#, "2592000"),
        (#"{"program":"a","timeout":"1"}"#, "timeout"), (#"{"program":"a","grace":3601}"#, "3600"),
        (#"{"program":"a","grace":1e300}"#, "grace"), (#"{"program":"a","idempotent":1}"#, "true or false"),
        (#"{"program":"a","stdout":1}"#, "stdout"), (#"{"program":"a","stdout":{"keep":"all"}}"#, "head"),
        (#"{"program":"a","stderr":{"limit":-1}}"#, "limit"),
        (#"{"program":"a","stderr":{"limit":1048577}}"#, "1048576"),
        (#"{"program":"a","stderr":{"x":1}}"#, "unknown key “x”"),
        (#"{"program":"a","stdout":{"to":"l"}}"#, "absolute"),
        (#"{"program":"a","values":1}"#, "values"),
    ])
    func `an invalid payload is refused, and the error names the key`(_ text: String, _ says: String) throws {
        let error = #expect(throws: PayloadError.self) { try payload(text) }
        #expect(error?.problem == .data)
        #expect(error?.message.contains(says) == true, "\(error?.message ?? "")")
    }

    @Test func `the number and the size of arguments and variables are bounded`() throws {
        let long = String(repeating: "x", count: 131_072)
        let many = Array(repeating: "\"a\"", count: 4097).joined(separator: ",")
        let variables = (0..<257).map { "\"A\($0)\":\"\"" }.joined(separator: ",")
        for text in [
            #"{"program":"a","arguments":["\#(long)"]}"#, #"{"program":"a","arguments":[\#(many)]}"#,
            #"{"program":"a","environment":{\#(variables)}}"#,
        ] { #expect(throws: PayloadError.self) { try payload(text) } }
    }

    // MARK: Settings

    private var settings: ExecProgram {
        var settings = ExecProgram(name: "a", path: "/usr/bin/true")
        settings.allowedArguments = .matching([ArgumentPattern(text: "-i"), ArgumentPattern(text: "/in/*")])
        settings.arguments = ["--fixed"]
        settings.environment = ["SIZE"]
        settings.directory = "/in"
        return settings
    }

    @Test(
        arguments: [
            (#"{}"#, nil), (#"{"arguments":["-i","/in/a"]}"#, nil), (#"{"arguments":["-x"]}"#, "“-x”"),
            (#"{"arguments":["/in/../etc"]}"#, "“/in/../etc”"), (#"{"environment":{"SIZE":"1"}}"#, nil),
            (#"{"environment":{"OTHER":"1"}}"#, "“OTHER”"), (#"{"stdin":"x"}"#, "takes no input"),
            (#"{"stdinFile":"/in/x"}"#, "takes no input"), (#"{"directory":"/in"}"#, nil),
            (#"{"directory":"/in/a"}"#, nil),
            (#"{"directory":"/inner"}"#, "must be in /in"), (#"{"directory":"/etc"}"#, "must be in /in"),
            (#"{"stdout":{"to":"/in/a"},"stderr":{"to":"/in/b"}}"#, nil),
            (#"{"stdout":{"to":"/in"}}"#, "must be in /in"),
            (#"{"stderr":{"to":"/etc/passwd"}}"#, "must be in /in"),
            (#"{"stdout":{"to":"/in/a"},"stderr":{"to":"/in/a"}}"#, "same file"),
            (#"{"environment":{"SIZE":"\#(String(repeating: "x", count: 131_072))"}}"#, "131072 bytes"),
        ] as [(String, String?)])
    func `a payload is checked against the settings of its program`(_ text: String, _ says: String?) throws {
        let body = text == "{}" ? "" : "," + text.dropFirst().dropLast()
        let payload = try payload(#"{"program":"a"\#(body)}"#)
        var error: PayloadError?
        do throws(PayloadError) { try payload.check(for: settings) } catch let refused { error = refused }
        #expect((error == nil) == (says == nil))
        if let says { #expect(error?.message.contains(says) == true, "\(error?.message ?? "")") }
    }

    @Test func `a program without permission takes no arguments, no directory and no files`() throws {
        let closed = ExecProgram(name: "a", path: "/usr/bin/true")
        for text in [#""arguments":["x"]"#, #""directory":"/in""#, #""stdout":{"to":"/in/a"}"#] {
            let payload = try payload("{\"program\":\"a\",\(text)}")
            #expect(throws: PayloadError.self) { try payload.check(for: closed) }
        }
    }

    @Test func `all arguments and variables together are bounded before execve refuses them`() throws {
        var open = settings
        open.allowedArguments = .any
        let argument = String(repeating: "x", count: 100_000)
        var payload = try payload(#"{"program":"a"}"#)
        payload.arguments = Array(repeating: argument, count: 20)
        try payload.check(for: open)
        payload.arguments = Array(repeating: argument, count: 21)
        #expect(throws: PayloadError.self) { try payload.check(for: open) }
        #expect(payload.arguments(for: open).prefix(3) == ["/usr/bin/true", "--fixed", argument])
    }
}
