/// Joins elements and texts. A string in a builder is text.
@resultBuilder
enum HTMLBuilder {
    static func buildExpression(_ html: HTML) -> HTML { html }
    static func buildExpression(_ html: HTML?) -> HTML { html ?? HTML() }
    static func buildExpression(_ text: String) -> HTML { HTML(text: text) }
    static func buildBlock(_ parts: HTML...) -> HTML { join(parts) }
    static func buildArray(_ parts: [HTML]) -> HTML { join(parts) }
    static func buildOptional(_ part: HTML?) -> HTML { part ?? HTML() }
    static func buildEither(first part: HTML) -> HTML { part }
    static func buildEither(second part: HTML) -> HTML { part }

    private static func join(_ parts: [HTML]) -> HTML {
        var all = HTML()
        for part in parts { all.append(part) }
        return all
    }
}
