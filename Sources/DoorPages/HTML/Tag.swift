/// The elements that pages use.
package enum Tag: String, Sendable {
    case html, head, meta, title, link, script, body
    case header, nav, main, section, footer, h1, h2, h3, p, div, span, a, b, code, pre, bdi, time, hr
    case ul, ol, li, dl, dt, dd, table, caption, thead, tbody, tr, th, td, details, summary
    case form, label, input, button, select, option, textarea, fieldset, legend, progress, kbd, noscript
    case svg, g, path, rect, line, circle, text

    var isVoid: Bool {
        switch self {
        case .meta, .link, .input, .hr: true
        default: false
        }
    }
}
