internal import GRDB

/// The values of a row, whatever another program has written there: GRDB's own subscripts trap on a value of
/// another type.
extension Row {
    func text(_ column: Int) -> String? { String.fromDatabaseValue(self[column]) }

    func integer(_ column: Int) -> Int64? { Int64.fromDatabaseValue(self[column]) }

    func flag(_ column: Int) -> Bool { integer(column) ?? 0 != 0 }
}
