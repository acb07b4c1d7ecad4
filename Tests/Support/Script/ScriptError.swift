/// An error in a script.
package struct ScriptError: Error, Equatable, CustomStringConvertible {
    /// The number of the line, from 1; 0 if a single line was parsed.
    package var line: Int
    package var problem: String

    package var description: String { line == 0 ? problem : "line \(line): \(problem)" }
}
