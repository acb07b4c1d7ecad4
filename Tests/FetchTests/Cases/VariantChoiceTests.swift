import Commands
import Testing

@testable import Fetch
@testable import Transfers

@Suite struct VariantChoiceTests {
    /// A response to a request in this language, made some seconds ago.
    private func variant(
        _ name: String, language: String? = nil, vary: String? = "Accept-Language", ago: Int = 0, lifetime: Int = 600
    ) -> StoredResponse {
        var request = Exchanges.request
        request.headers = headers(language)
        var fields = [("Cache-Control", "max-age=\(lifetime)"), ("Date", "@-\(ago)"), ("X-Name", name)]
        if let vary { fields.append(("Vary", vary)) }
        return Exchanges.stored(fields, request: request)
    }

    private func headers(_ language: String?) -> HeaderFields {
        HeaderFields(language.map { [HTTPField("Accept-Language", $0)] } ?? [])
    }

    /// The name of the chosen response, which must not depend on the order of the rows.
    private func choice(_ variants: [StoredResponse], _ language: String?) -> String? {
        let names = [variants, variants.reversed()].map {
            VariantChoice.select($0, for: headers(language))?.headers.first("x-name")
        }
        #expect(names[0] == names[1])
        return names[0]
    }

    @Test func `every nominated header must match`() {
        let rows = [
            variant("english", language: "en"), variant("french", language: "fr"), variant("none"),
        ]
        #expect(choice(rows, "en") == "english" && choice(rows, "FR ") == "french" && choice(rows, nil) == "none")
        #expect(choice(rows, "de") == nil && choice([], "en") == nil)
    }

    @Test func `a stale variant hides no other one`() {
        let rows = [variant("english", language: "en", lifetime: 0), variant("french", language: "fr")]
        #expect(choice(rows, "fr") == "french" && choice(rows, "en") == "english")
    }

    @Test func `of several that match, the one with Vary counts, then the youngest`() {
        let plain = variant("plain", vary: nil)
        let old = variant("old", language: "en", ago: 60)
        let young = variant("young", language: "en", vary: "Accept-Language, Foo", ago: 30)
        #expect(choice([plain, old], "en") == "old" && choice([plain, old], "fr") == "plain")
        #expect(choice([old, young, plain], "en") == "young")
    }

    @Test func `a response with Vary star is chosen only where no other fits`() {
        let star = variant("star", vary: "*")
        let english = variant("english", language: "en", ago: 60, lifetime: 0)
        #expect(choice([star, english], "en") == "english" && choice([star, english], "fr") == "star")
    }
}
