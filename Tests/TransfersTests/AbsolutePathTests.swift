import Foundation
import Testing

@testable import Transfers

@Suite struct AbsolutePathTests {
    @Test(arguments: [
        ("/a/./b", "/a/./b"), ("a", "DIR/a"), ("./a", "DIR/a"), (".//./a/./b", "DIR/a/./b"), ("./", "DIR/"),
        ("../a", "DIR/../a"), (".hidden", "DIR/.hidden"), ("./é/ü", "DIR/é/ü"),
    ])
    func `a relative path is that of the working directory`(_ path: String, _ absolute: String) throws {
        let directory = FileManager.default.currentDirectoryPath
        #expect(try path.absolutePath() == absolute.replacing("DIR", with: directory == "/" ? "" : directory))
    }
}
