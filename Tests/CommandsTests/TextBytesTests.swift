import Commands
import TestSupport
import Testing

@Suite struct TextBytesTests {
    @Test func `the last name and the parent of a path are divided at its slashes`() {
        let cases = [
            ("/a/b", "b", "/a"), ("/a", "a", "/"), ("a", "a", ""), ("/a/", "a", "/a"), ("/", "", "/"), ("", "", ""),
            ("/a/\u{301}b", "\u{301}b", "/a"), ("/a\u{301}/b\u{20DD}", "b\u{20DD}", "/a\u{301}"),
            ("/a/\u{1F468}\u{200D}\u{1F469}", "\u{1F468}\u{200D}\u{1F469}", "/a"),
        ]
        for (path, name, parent) in cases {
            #expect(Array(path.lastPathName.utf8) == Array(name.utf8), "\(path)")
            #expect(Array(path.parentPath.utf8) == Array(parent.utf8), "\(path)")
        }
    }

    @Test func `texts of different bytes differ, even where Swift calls them equal`() {
        #expect("é" == "e\u{301}")
        #expect(!"é".hasSameBytes(as: "e\u{301}"))
        #expect("é".hasSameBytes(as: "é"))
        #expect("/\u{301}x".beginsWithBytes(of: "/"))
        #expect("x/".endsWithBytes(of: "/") && !"x".endsWithBytes(of: "/x"))
    }

    @Test func `bytes are quoted for a shell`() {
        #expect(String(shellQuoting: [0x6E, 0xFF, 0x2E]) == #"$'n\xff.'"#)
        #expect(String(shellQuoting: [0x0A, 0x27, 0x5C, 0x01, 0x7F]) == #"$'\n\'\\\x01\x7f'"#)
    }

    @Test func `parent and last name together are the path again`() {
        var random = SeededRandom.announced("TextBytes")
        let pieces = ["/", "a", "\u{301}", "é", "\u{20DD}", ".", "\u{200D}", "\n", "\r\n"]
        for _ in RandomRounds("TextBytes", 2000...20_000) {
            var path = "/"
            for _ in 0..<random.number(in: 0..<8) { path += pieces[random.number(in: 0..<pieces.count)] }
            guard path.utf8.last != 0x2F, path.utf8.dropFirst().first != 0x2F else { continue }
            let parent = path.parentPath
            let joined = parent == "/" ? "/\(path.lastPathName)" : "\(parent)/\(path.lastPathName)"
            #expect(Array(joined.utf8) == Array(path.utf8))
            #expect(!path.lastPathName.utf8.contains(0x2F))
        }
    }
}
