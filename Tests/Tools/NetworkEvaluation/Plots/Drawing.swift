import Foundation

/// The parts of SVG that the plots use.
struct Drawing {
    /// The colours of lines and points, in order.
    static let colours = ["#2471a3", "#ca6f1e", "#1e8449", "#8e44ad"]
    private var parts: [String]

    init(width: Double, height: Double) {
        parts = [
            "<svg xmlns='http://www.w3.org/2000/svg' width='\(Int(width))' height='\(Int(height))' "
                + "font-family='sans-serif' font-size='11'>", "<rect width='100%' height='100%' fill='white'/>",
        ]
    }

    var svg: String { (parts + ["</svg>\n"]).joined(separator: "\n") }

    mutating func text(
        _ x: Double, _ y: Double, _ text: String, anchor: String = "start", colour: String = "#333",
        weight: String = "normal"
    ) {
        let escaped = text.replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;")
        parts.append(
            "<text x='\(Self.number(x))' y='\(Self.number(y))' text-anchor='\(anchor)' fill='\(colour)' "
                + "font-weight='\(weight)'>\(escaped)</text>")
    }

    mutating func line(
        _ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double, _ colour: String, width: Double = 1, dashes: String = ""
    ) {
        parts.append(
            "<line x1='\(Self.number(x1))' y1='\(Self.number(y1))' x2='\(Self.number(x2))' y2='\(Self.number(y2))' "
                + "stroke='\(colour)' stroke-width='\(width)' stroke-dasharray='\(dashes)'/>")
    }

    mutating func path(_ points: [(Double, Double)], _ colour: String) {
        let list = points.map { "\(Self.number($0)),\(Self.number($1))" }.joined(separator: " ")
        parts.append("<polyline points='\(list)' fill='none' stroke='\(colour)' stroke-width='1.4'/>")
    }

    mutating func circle(_ x: Double, _ y: Double, _ colour: String) {
        parts.append(
            "<circle cx='\(Self.number(x))' cy='\(Self.number(y))' r='4' fill='\(colour)' fill-opacity='0.45'/>")
    }

    private static func number(_ value: Double) -> String { String(format: "%.1f", value) }
}
