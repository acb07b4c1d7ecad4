import Commands
import Foundation
import Testing

@testable import Sync
@testable import Transfers

/// The table of operations.md, section 5.4: the parts that are decided by the bytes of a page.
@Suite struct RecordScannerTests {
    private func plan(_ items: String = "", fields: [String] = []) -> ScanPlan {
        var plan = ScanPlan()
        plan.items = (try? JSONPointer(items)) ?? .root
        plan.fields = fields.compactMap { try? JSONPointer($0) }
        return plan
    }

    /// Scans in one chunk and byte by byte, which must agree.
    private func scan(_ plan: ScanPlan, _ body: [UInt8], sourceLocation: SourceLocation = #_sourceLocation)
        -> ScanOutcome
    {
        let outcome = ScanOutcome(plan, body)
        for chunk in [1, 2, 3, 7] {
            #expect(
                ScanOutcome(plan, body, chunk: chunk) == outcome, "chunks of \(chunk)", sourceLocation: sourceLocation)
        }
        return outcome
    }

    private func scan(_ plan: ScanPlan, _ text: String, sourceLocation: SourceLocation = #_sourceLocation)
        -> ScanOutcome
    {
        scan(plan, Array(text.utf8), sourceLocation: sourceLocation)
    }

    // MARK: Records

    @Test func `records are yielded byte for byte with their index`() {
        let records = [#"{"id":1,"n":12345678901234567890}"#, #"{ "id" : 2, "x":1e400 }"#, #"{"id":9007199254740993}"#]
        let outcome = scan(plan(fields: ["/id"]), " [ \(records.joined(separator: " ,\n")) ]\n ")
        #expect(outcome.texts == records)
        #expect(outcome.elements.map(\.index) == [0, 1, 2])
        #expect(outcome.elements.map(\.fields) == [["1"], ["2"], ["9007199254740993"]])
        #expect(outcome.problem == nil)
    }

    @Test func `the list is found at any pointer, and values before and after it`() throws {
        var plan = plan("/a/1/data")
        plan.values = try ["/next", "/meta/total", "/token", "/none", "/a/0"].map { try JSONPointer($0) }
        let outcome = scan(
            plan,
            #"{"next":"c\u0061","a":[true,{"x":[{"data":[9]}],"data":[1,{"data":2}]},[]],"meta":{"y":1,"total":2},"#
                + #""token":null}"#
        )
        #expect(outcome.problem == nil)
        #expect(outcome.texts == ["1", #"{"data":2}"#])
        #expect(outcome.envelope.values == [.text("ca"), .number("2"), .null, .missing, .bool(true)])
    }

    @Test func `the list of the World Bank's kind stands beside its envelope in an array`() throws {
        var plan = plan("/1")
        plan.values = [try JSONPointer("/0/total")]
        let outcome = scan(plan, #"[{"page":1,"total":"50"},[{"id":"ABW"}]]"#)
        #expect(outcome.texts == [#"{"id":"ABW"}"#] && outcome.envelope.values == [.text("50")])
    }

    @Test func `deleted keys are a second list, before or after the records`() throws {
        var plan = plan("/data")
        plan.deletedItems = try JSONPointer("/gone")
        for text in [#"{"gone":[5,"x"],"data":[{"id":1}]}"#, #"{"data":[{"id":1}],"gone":[5,"x"]}"#] {
            let outcome = scan(plan, text)
            #expect(outcome.elements.filter { $0.list == .deletedItems }.map(\.text) == ["5", "\"x\""])
            #expect(outcome.elements.filter { $0.list == .deletedItems }.map(\.index) == [0, 1])
            #expect(outcome.elements.filter { $0.list == .items }.map(\.text) == [#"{"id":1}"#])
        }
        for text in [#"{"data":[]}"#, #"{"data":[],"gone":null}"#] { #expect(scan(plan, text).problem == nil) }
        guard case .noArray(_, found: "an object", _)? = scan(plan, #"{"data":[],"gone":{}}"#).problem else {
            Issue.record("an object is not a list of keys")
            return
        }
    }

    @Test func `a value of the envelope is of its kind, exact, and dropped beyond 8 KiB`() throws {
        var plan = plan("/data")
        plan.values = [try JSONPointer("/v")]
        let long = "\"" + String(repeating: "x", count: 9000) + "\""
        let cases: [(String, EnvelopeValue)] = [
            ("null", .null), ("false", .bool(false)), ("\"\"", .text("")),
            ("12345678901234567890123", .number("12345678901234567890123")),
            ("1e400", .number("1e400")), ("[1]", .container("an array")), ("{}", .container("an object")),
            (long, .tooLong),
            (#"{"x":1,"x":2}"#, .container("an object")),
        ]
        for (text, value) in cases {
            let outcome = scan(plan, "{\"v\":\(text),\"data\":[]}")
            #expect(outcome.problem == nil && outcome.envelope.values == [value], "\(text.prefix(40))")
            #expect(scan(plan, "{\"data\":[],\"v\":\(text)}").envelope.values == [value])
        }
    }

    // MARK: Rejects

    static let rejects: [(String, RecordProblem)] = [
        (#"{"id":1,"a":1,"a":2}"#, .duplicateName("a")), (#"{"id":1,"a":1,"\u0061":2}"#, .duplicateName("a")),
        (#"{"id":"\ud800"}"#, .loneSurrogate),
        (#"{"id":NaN}"#, .syntax(at: 6, "no JSON value starts with this character")),
        (#"{"id":01}"#, .syntax(at: 6, "a number starts with 0")),
        (#"{"id":-Infinity}"#, .syntax(at: 7, "a digit is missing in a number")),
        (#"{"id":+1}"#, .syntax(at: 6, "no JSON value starts with this character")),
        (#"{"id":1,}"#, .syntax(at: 8, "expected the name of a member in quotes")),
        (#"{id:1}"#, .syntax(at: 1, "expected the name of a member in quotes")),
        ("{\"id\":\"a\nb\"}", .syntax(at: 8, "a control character in a string must be escaped")),
        ("NaN", .syntax(at: 0, "no JSON value starts with this character")),
        ("01", .syntax(at: 0, "a number starts with 0")),
        (String(repeating: "[", count: 66) + String(repeating: "]", count: 66), .nestedTooDeep),
        (String(repeating: "{\"a\":", count: 70) + "1" + String(repeating: "}", count: 70), .nestedTooDeep),
    ]

    @Test(arguments: rejects.indices)
    func `a malformed record is rejected by itself where its end can be found`(index: Int) {
        let (text, problem) = Self.rejects[index]
        let outcome = scan(plan(), #"[{"id":0},\#(text),{"id":2}]"#)
        #expect(outcome.problem == nil)
        #expect(outcome.problems == [nil, problem, nil])
        #expect(outcome.texts == [#"{"id":0}"#, #"{"id":2}"#])
        #expect(outcome.elements.map(\.index) == [0, 1, 2])
        #expect(!problem.reason.isEmpty)
    }

    @Test func `invalid UTF-8 rejects its record only`() {
        let body = Array(#"[{"id":0},{"id":""#.utf8) + [0xC3, 0x28] + Array(#""},{"id":2}]"#.utf8)
        let outcome = scan(plan(), body)
        #expect(outcome.problem == nil && outcome.problems == [nil, .invalidUTF8, nil])
    }

    static let broken = [
        #"[{"id":1]]"#, #"[{"id":[1}},{}]"#, #"[{"id":1} {"id":2}]"#, "[1,]", "[,1]", "[1 2]", #"[{}:{}]"#,
        #"[{"a":1}x]"#,
        #"{"data":[],}"#, #"{"data" []}"#, #"{data:[]}"#, #"{"a":nul,"data":[]}"#, #"{"a":01,"data":[]}"#,
        #"{"a":[1,],"data":[]}"#,
        #"{"a":"\x","data":[]}"#, #"{"a":"\ud800","data":[]}"#, #"{"data":[],"data":[]}"#,
        #"{"data":[],"dat\u0061":[]}"#,
        #"{"data":[]]"#, "while(1);[]", "for(;;);[]", "hello", "}", "[}", "{]", #"{"a":{"b":[1}},"data":[]}"#,
        #"{"a":\#(String(repeating: "[", count: 70))\#(String(repeating: "]", count: 70)),"data":[]}"#,
    ]

    @Test(arguments: broken)
    func `a page whose structure is broken is malformed and charged`(text: String) {
        let outcome = scan(plan(text.hasPrefix("{") ? "/data" : ""), text)
        guard case .malformed(let at, let problem)? = outcome.problem else {
            Issue.record("“\(text.prefix(60))”: \(String(describing: outcome.problem))")
            return
        }
        #expect((0...text.utf8.count).contains(at) && !problem.isEmpty)
        #expect(outcome.problem?.fault == .command)
    }

    @Test func `a value beside the list may have a name twice, as no pointer leads through it`() {
        let outcome = scan(plan("/data"), #"{"a":{"x":1,"x":2},"b":1,"b":2,"data":[1]}"#)
        #expect(outcome.problem == nil && outcome.texts == ["1"])
    }

    // MARK: Size

    @Test(arguments: [1, 10, 64, 4096, .max])
    func `a record beyond maxRecord is rejected and the next one read`(chunk: Int) {
        var plan = plan(fields: ["/id"])
        plan.maxRecord = 1024
        let exact = "{\"id\":1,\"x\":\"" + String(repeating: "y", count: 1024 - 15) + "\"}"
        #expect(exact.utf8.count == 1024)
        let larger = "{\"id\":2,\"x\":\"" + String(repeating: "]", count: 1024 - 14) + "\"}"
        let huge = "{\"id\":3,\"x\":[" + String(repeating: "{\"\\\"]\":[1,2]},", count: 5000) + "null]}"
        let number = String(repeating: "7", count: 2000)
        let outcome = ScanOutcome(plan, "[\(exact),\(larger), \(huge) ,\(number),{\"id\":5}]", chunk: chunk)
        #expect(outcome.problem == nil)
        #expect(
            outcome.problems == [
                nil, .tooLarge(bytes: 1025, max: 1024), .tooLarge(bytes: huge.utf8.count, max: 1024),
                .tooLarge(bytes: 2000, max: 1024),
                nil,
            ])
        #expect(outcome.elements.map(\.text.isEmpty) == [false, true, true, true, false])
    }

    @Test func `a string beside the list beyond maxRecord is skipped without a check, in any chunks`() {
        var plan = plan("/data")
        plan.maxRecord = 1024
        let long = #""\ud800"# + String(repeating: "x", count: 2000) + "\""
        for text in ["{\"a\":\(long),\"data\":[1]}", "{\"a\":[{\"b\":\(long)}],\"data\":[1]}"] {
            let outcome = scan(plan, text)
            #expect(outcome.problem == nil && outcome.texts == ["1"])
        }
    }

    @Test func `brackets of 64 levels are compared, and deeper ones are counted`() {
        let deep = String(repeating: "[{\"a\":", count: 32)
        let close = String(repeating: "}]", count: 32)
        #expect(scan(plan(), "[\(deep)1\(close),2]").problems == [nil, nil])
        guard case .malformed? = scan(plan(), "[\(deep)1]\(close.dropFirst()),2]").problem else {
            Issue.record("the end of the record is not certain")
            return
        }
        #expect(scan(plan(), "[\(deep)[1}\(close),2]").problems == [.nestedTooDeep, nil])
    }

    @Test func `a record of 64 MB and a string of 64 MB beside the list are not held`() throws {
        var scanner = RecordScanner(plan("/data"))
        let filler = [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 16)
        let before = try memory()
        scanner.feed(Array("{\"beside\":\"".utf8))
        for part in 0..<3 {
            for _ in 0..<1024 {
                #expect(try scanner.next() == nil || part > 0)
                scanner.feed(filler)
            }
            if part == 0 {
                #expect(try scanner.next() == nil)
                scanner.feed(Array("\",\"data\":[{\"id\":1},{\"id\":\"".utf8))
                #expect(try scanner.next()?.index == 0)
            }
        }
        #expect(try scanner.next() == nil)
        scanner.feed(Array("\"},{\"id\":3}]}".utf8))
        #expect(try scanner.next()?.problem == .tooLarge(bytes: 9 + 2 * (64 << 20), max: 1 << 20))
        #expect(try scanner.next()?.index == 2)
        scanner.finish()
        #expect(try scanner.next() == nil)
        #expect(try memory() - before < 32 << 20)
    }

    // MARK: Whole bodies

    @Test func `a byte order mark and white space are skipped`() {
        let outcome = scan(plan(), [0xEF, 0xBB, 0xBF] + Array(" \r\n\t[1]\n\n".utf8))
        #expect(outcome.problem == nil && outcome.texts == ["1"])
        #expect(
            scan(plan(), [0xEF, 0xBB, 0x5B, 0x5D]).problem
                == .malformed(at: 2, "no JSON value starts with this character"))
        #expect(scan(plan(), [0xEF, 0xBB]).problem == .cut(after: 2))
    }

    @Test func `the prefix that protects JSON is charged`() {
        let outcome = scan(plan(), ")]}',\n[1]")
        #expect(outcome.problem == .prefixed && outcome.problem?.fault == .command)
    }

    @Test func `HTML is final with its first bytes as the reason`() {
        let page = "  <!DOCTYPE html>\n<html><head><title>Sign in</title></head>" + String(repeating: "x", count: 500)
        for format in ScanPlan.Format.allCases {
            var plan = plan()
            plan.format = format
            let outcome = scan(plan, page)
            guard case .html(let start)? = outcome.problem else {
                Issue.record("\(String(describing: outcome.problem))")
                return
            }
            #expect(start.hasPrefix("<!DOCTYPE html> <html><head><title>Sign in</title>") && start.utf8.count <= 200)
            let failure = outcome.problem?.failure(of: "https://h/x")
            #expect(failure?.fault == .final && failure?.reason.contains("Sign in") == true)
        }
        #expect(scan(plan(), "<html>").problem == .html(start: "<html>"))
    }

    @Test func `a body that ends at any byte before its end is a cut and never a list`() {
        let body = Array(#"{"a":[1,"x"],"data":[{"id":1},"é",-12.5e3,true],"b":{"c":null}}"#.utf8)
        #expect(scan(plan("/data"), body).problem == nil)
        for end in 0..<body.count {
            let outcome = scan(plan("/data"), Array(body[..<end]))
            #expect(outcome.problem == .cut(after: end))
            #expect(outcome.problem?.fault == .reset)
        }
    }

    @Test(arguments: ["[1]x", "[1] [2]", "[1],", "[1]]", "[1]\n{}", "[1]\0"])
    func `bytes after the end are charged`(text: String) {
        guard case .trailing? = scan(plan(), text).problem else {
            Issue.record("\(text)")
            return
        }
        #expect(PageProblem.trailing(at: 3).fault == .command)
    }

    static let missing: [(String, String, String?)] = [
        (#"{"items":[]}"#, "/data", nil), (#"{"data":{"x":1}}"#, "/data", "an object"),
        (#"{"data":null}"#, "/data", "null"),
        (#"{"data":"x"}"#, "/data", "a string"), (#"{"data":5}"#, "/data", "a number"),
        (#"{"data":true}"#, "/data", "a boolean"),
        (#"{"data":[1]}"#, "/data/rows", nil), (#"{"error":"rate limited"}"#, "/data", nil),
        (#"{"a":1}"#, "", "an object"), ("5", "", "a number"),
        ("null", "", "null"), ("\"x\"", "/data", nil), ("[]", "/data", nil), ("[]", "/0", nil), ("{}", "/data", nil),
    ]

    @Test(arguments: missing.indices)
    func `a body without an array at the pointer is final and shows its start`(index: Int) throws {
        let (text, items, found) = Self.missing[index]
        let pointer = try JSONPointer(items)
        let outcome = scan(plan(items), text)
        #expect(outcome.problem == .noArray(pointer, found: found, start: text))
        let failure = try #require(outcome.problem?.failure(of: "https://h/x"))
        #expect(failure.fault == .final && failure.isAnswer)
        #expect(
            failure.reason.contains(
                "no array at \(pointer.isRoot ? "the whole value" : "“\(items)”") in the answer of https://h/x"))
        #expect(failure.reason.contains("“\(text)”"))
    }

    @Test func `an empty list is read`() {
        for text in ["[]", " [ ] ", "{\"data\":[]}"] {
            let outcome = scan(plan(text.contains("data") ? "/data" : ""), text)
            #expect(outcome.problem == nil && outcome.elements.isEmpty && outcome.envelope.items == .array)
        }
    }

    @Test func `a scanner that has failed fails again, and one that has ended stays at its end`() throws {
        var scanner = RecordScanner(plan())
        scanner.feed(Array("[1,]".utf8))
        #expect(try scanner.next()?.index == 0)
        for _ in 0..<3 { #expect(throws: PageProblem.self) { try scanner.next() } }
        var ended = RecordScanner(plan())
        ended.feed(Array("[1]".utf8))
        ended.finish()
        #expect(try ended.next()?.index == 0)
        for _ in 0..<3 { #expect(try ended.next() == nil) }
    }

    @Test func `overlapping pointers are found`() throws {
        func overlap(_ lists: [String], _ values: [String]) throws -> [String]? {
            try ScanPlan.overlap(lists: lists.map { try JSONPointer($0) }, values: values.map { try JSONPointer($0) })
                .map {
                    [$0.outer.text, $0.inner.text]
                }
        }
        #expect(try overlap(["/data"], ["/next", "/next", "/total"]) == nil)
        #expect(try overlap([""], ["/next"]) == ["", "/next"])
        #expect(try overlap(["/data"], ["/data"]) == ["/data", "/data"])
        #expect(try overlap(["/a/b"], ["/a"]) == ["/a", "/a/b"])
        #expect(try overlap(["/a"], ["/b/c", "/b"]) == ["/b", "/b/c"])
        #expect(try overlap(["/a", "/a/b"], []) == ["/a", "/a/b"])
    }

    /// Bytes of memory that this process has had at most.
    private func memory() throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
        let digits = line.filter(\.isNumber)
        return try #require(Int(digits)) << 10
    }
}
