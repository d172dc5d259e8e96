/** Records that come with another: whoever knows it knows them, so that their tables are made with its. */
import { createClassNote, type Class } from '../../metadata/class-metadata.js'

const companions = createClassNote<readonly Class[]>('companions')

/**
 * For decorators of packages on records, which keep something beside the rows: the tables of `others` are made wherever that of
 * the record is, also in programs that do not import the package's module.
 */
export function addRecords(type: Class, others: readonly Class[]): void {
  companions.write(type, [...(companions.readOwn(type) ?? []), ...others])
}

export function companionsOf(type: Class): readonly Class[] {
  return companions.read(type) ?? []
}
