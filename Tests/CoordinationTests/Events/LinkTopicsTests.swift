import Commands
import NetworkControl
import Testing

@testable import Coordination

@Suite struct LinkTopicsTests {
    private let all = ["*", "http://a:80", "http://a:8080", "http://b:80"].flatMap {
        [LinkKey(name: $0, .up), LinkKey(name: $0, .down)]
    }

    private func topics(_ prefixes: String...) -> LinkTopics { LinkTopics(prefixes.map { Array($0.utf8) }) }

    private func names(_ topics: LinkTopics) -> [String] {
        topics.keys { all.reversed() }.map { "\($0.name) \($0.direction.rawValue)" }
    }

    @Test(arguments: ["", "l", "link", "link/"]) func `a prefix of the kind is every link`(_ prefix: String) {
        #expect(topics(prefix).hasAll && topics(prefix).contains("http://b:80"))
        #expect(
            names(topics(prefix)) == [
                "* down", "* up", "http://a:80 down", "http://a:80 up", "http://a:8080 down", "http://a:8080 up",
                "http://b:80 down", "http://b:80 up",
            ])
    }

    @Test(arguments: ["counts", "status/", "bandwidth/http://a:80 ", "links", "m"])
    func `other topics want no link`(_ prefix: String) {
        #expect(topics(prefix).isEmpty && !topics(prefix).contains("http://a:80"))
        #expect(names(topics(prefix)).isEmpty)
    }

    @Test func `a beginning covers the names that begin with it`() {
        let topics = topics("link/http://a:80")
        #expect(topics.contains("http://a:80") && topics.contains("http://a:8080") && !topics.contains("http://b:80"))
        #expect(
            names(topics) == ["http://a:80 down", "http://a:80 up", "http://a:8080 down", "http://a:8080 up"])
    }

    @Test func `a whole topic is one link, which is found without a look at the others`() {
        let topics = topics("link/http://a:80 ", "link/* ", "counts")
        #expect(topics.contains("http://a:80") && topics.contains("*") && !topics.contains("http://a:8080"))
        var hasLooked = false
        let keys = topics.keys {
            hasLooked = true
            return all
        }
        #expect(!hasLooked)
        #expect(keys == ["*", "http://a:80"].flatMap { [LinkKey(name: $0, .down), LinkKey(name: $0, .up)] })
        #expect(keys.first?.destination == nil, "an uplink")
    }
}
