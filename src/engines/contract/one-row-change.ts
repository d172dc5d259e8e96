/** One new row, of which an engine may make a statement that writes a row for each of several calls. */
export interface OneNewRow {
  /** So long is the text before ` values (`, in which the placeholders stand in their order. */
  readonly head: number
  /** So long is the text from ` returning ` to the end. */
  readonly tail: number
}

/** A change of one row by its key, of which an engine may make one that changes a row for each of several calls. */
export interface OneRowChange {
  /** The table's name, quoted. */
  readonly table: string
  /** The name of its key, quoted. */
  readonly key: string
  /** Which placeholder is the key, from 1. */
  readonly keyPlace: number
  /** So long is the text before its ` where `. Behind that stands ` returning `, and nothing behind its columns. */
  readonly head: number
  /** So long is the text from ` returning ` to the end. */
  readonly tail: number
}

/** A change of several rows by lists of their keys and values, of which an engine may make one for several calls. */
export interface RowsChange {
  /**
   * What does so. A call's rows are changed if all of them are there and nobody holds one, and none of them else; each row
   * is answered with its call's number behind it. Values: the lists of all calls, lists of each row's call and of how many
   * rows that has, and the keys again.
   */
  readonly together: string
  /** So many lists of keys and of other values come first. */
  readonly lists: number
  /** Which of them, from 0, is that of the keys. */
  readonly keys: number
  /** How many rows the values of one call are for. */
  readonly sizeOf: (values: readonly unknown[]) => number
}
