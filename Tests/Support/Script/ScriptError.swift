/// A script that cannot be run.
package struct ScriptError: Error, Equatable, CustomStringConvertible {
    /// From 1; 0 where a single line was parsed.
    package var line: Int
    package var problem: String

    package var description: String { line == 0 ? problem : "line \(line): \(problem)" }
}
