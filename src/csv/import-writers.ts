/** The ways in which the rows of an import are written, or only checked. */
import { EarlierChecks } from '../records/clients/check-row.js'
import type { DescribedKey } from '../records/rest/record-rights.js'
import type { CsvRecords, CsvValues } from './csv-records.js'

export type WritableRecords = Pick<CsvRecords, 'create' | 'update'>

export interface ImportWriter {
  /** The number of rows whose writes may run at the same time. */
  readonly concurrency: number
  /** Runs the writes of one row, so that it can fail without the others. @param row the number of the row in the file */
  row<R>(row: number, write: (writer: WritableRecords) => Promise<R>): Promise<R>
}

/** Writes the rows in the open transaction, each in a part of it. */
export function storingWriter(records: CsvRecords): ImportWriter {
  return { concurrency: 1, row: (_row, write) => records.transaction(() => write(records)) }
}

/**
 * Finds by reads alone what an import would refuse. It holds no lock, takes no keys of a sequence, and runs no hooks. If hooks
 * may change the rows, their unique values are left out. Rows are checked at the same time, because each waits for reads only.
 */
export function checkingWriter(records: CsvRecords): ImportWriter {
  const changes = new ChangedKeys()
  const earlier = new EarlierChecks()
  const { key } = records.described
  const keepsValues = !records.hasHooksBefore
  let created = 0
  const isChangedBefore = (row: number) => (id: string) => changes.isChangedBefore(row, id)
  return {
    concurrency: 50,
    row: (row, write) =>
      write({
        async create(values) {
          const isChanged = isChangedBefore(row)
          const checked = await records.checkCreate(values, { isChanged, earlier })
          const identity =
            key.parts === undefined ? { [key.name]: `new ${++created}` } : pick(values, key.parts)
          return { ...(keepsValues && checked), ...identity }
        },
        async update(id, values, expected) {
          const options = { expected, isChanged: isChangedBefore(row), earlier }
          const checking = records.checkUpdate(id, values, options)
          changes.add(row, toKeyText(id, key.kind), checking)
          const checked = await checking
          if (checked === null || keepsValues) return checked
          return pick(checked as CsvValues, key.parts ?? [key.name])
        },
      }),
  }
}

function pick(values: CsvValues, names: readonly string[]): CsvValues {
  return Object.fromEntries(names.map((name) => [name, values[name]]))
}

function toKeyText(id: unknown, kind: DescribedKey['kind']): string {
  if (kind === 'text') return String(id)
  const text = String(id).toLowerCase()
  return kind === 'integer' ? String(Number(text)) : text
}

interface CheckedChange {
  readonly row: number
  /** Whether the row can be changed. */
  readonly isPossible: Promise<boolean>
}

/** The keys of the rows that a file changes. The stored unique values of a changed row are free for later rows of the file. */
class ChangedKeys {
  readonly #byKey = new Map<string, CheckedChange[]>()

  add(row: number, key: string, checking: Promise<object | null>): void {
    const isPossible = checking.then(
      (found) => found !== null,
      () => false,
    )
    const change = { row, isPossible }
    const changes = this.#byKey.get(key)
    if (changes === undefined) this.#byKey.set(key, [change])
    else changes.push(change)
  }

  /** Waits for the checks of earlier rows, which wait for still earlier ones at most. */
  async isChangedBefore(row: number, key: string): Promise<boolean> {
    for (const change of this.#byKey.get(key) ?? [])
      if (change.row < row && (await change.isPossible)) return true
    return false
  }
}
