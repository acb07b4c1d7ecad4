/// An attribute of an element. There is none for styles and event handlers, and a URL comes only from ``PageURL``.
package struct Attribute: Sendable {
    let name: String
    /// Nil for one that is there or not.
    let value: String?

    private init(_ name: String, _ value: String?) {
        self.name = name
        self.value = value
    }

    /// The names of attributes that take any text.
    enum Name: String {
        case `class`, id, name, value, type, title, lang, charset, content, rel, placeholder, autocomplete, datetime,
            dir
        case `for`, method, enctype, role, scope, tabindex, min, max, maxlength, size, rows, pattern, list, accesskey
        case spellcheck, inputmode, accept, colspan, open, key, sizes
        case d, x, y, x1, x2, y1, y2, r, cx, cy, rx, width, height, viewBox, points, transform, preserveAspectRatio
        case label = "aria-label"
        case labelledBy = "aria-labelledby"
        case describedBy = "aria-describedby"
        case current = "aria-current"
        case hidden = "aria-hidden"
        case live = "aria-live"
        case anchor = "text-anchor"
        case vectorEffect = "vector-effect"
    }

    static func the(_ name: Name, _ value: String) -> Attribute { Attribute(name.rawValue, value) }
    static func `class`(_ value: String) -> Attribute { .the(.class, value) }
    static func id(_ value: String) -> Attribute { .the(.id, value) }

    /// Names the part of a page that the script replaces when it changes.
    static func live(_ key: String) -> Attribute { Attribute("data-k", key) }
    /// Data for the script, as the attribute `data-…`.
    static func data(_ name: StaticString, _ value: String) -> Attribute { Attribute("data-\(name)", value) }

    static func href(_ url: PageURL) -> Attribute { Attribute("href", url.text) }
    static func src(_ url: PageURL) -> Attribute { Attribute("src", url.text) }
    static func action(_ url: PageURL) -> Attribute { Attribute("action", url.text) }
    /// A URL for the script, as the attribute `data-…`.
    static func data(_ name: StaticString, _ url: PageURL) -> Attribute { Attribute("data-\(name)", url.text) }

    enum Flag: String {
        case checked, disabled, required, selected, multiple, autofocus, readonly, hidden, open
        case deferred = "defer"
        case folder = "webkitdirectory"
        /// For the script: shown as an age, with milliseconds, or only where there is a script.
        case age = "data-age"
        case exact = "data-exact"
        case script = "data-script"
    }

    static func flag(_ flag: Flag, _ isSet: Bool = true) -> Attribute? {
        isSet ? Attribute(flag.rawValue, nil) : nil
    }
}
