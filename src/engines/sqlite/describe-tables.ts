/** Describes the tables and views of a file. Source: SQLite, PRAGMA functions. */
import type { CatalogueIndex, CatalogueTable, TableKind } from '../contract/described-table.js'
import type { Row, Runner } from '../contract/engine.js'
import { frameworkQuery } from '../contract/statement.js'
import type { ActualColumn, ActualTable } from '../contract/table-schema.js'
import { readSqliteCatalogue } from './catalogue.js'
import { readSamples, toColumnForm, type ColumnSample } from './column-forms.js'
import { readTableText, type TableText } from './table-text.js'

export async function describeSqliteTables(runner: Runner): Promise<CatalogueTable[]> {
  const read = async (sql: string): Promise<readonly Row[]> =>
    (await runner.run(frameworkQuery(sql), [], 'all')).rows
  const catalogue = await readSqliteCatalogue(runner)
  const rows = await read(kindsSql)
  const kinds = new Map(rows.map(([name, kind]) => [String(name), String(kind)]))
  const withoutRowId = new Set(rows.filter(([, , flag]) => flag === 1).map(([name]) => name))
  const indexes = await readIndexes(read)
  const texts = new Map(
    (await read(textsSql)).map(([name, sql]) => [String(name), readTableText(String(sql))]),
  )
  // SQLite does not distinguish case, and references may write a name in another one.
  const names = new Map([...catalogue.keys()].map((name) => [name.toLowerCase(), name]))
  const tables = [...catalogue.values()]
    .filter(({ name }) => kinds.get(name) !== 'shadow')
    .sort((a, b) => (a.name < b.name ? -1 : 1))
  const samples = new Map<string, ReadonlyMap<string, ColumnSample>>()
  for (const table of tables) samples.set(table.name, await readSamples(table, read))
  return tables.map((table) =>
    describe(table, { kinds, indexes, names, withoutRowId, samples, texts }),
  )
}

interface Catalogues {
  readonly kinds: ReadonlyMap<string, string>
  readonly indexes: ReadonlyMap<string, readonly CatalogueIndex[]>
  /** By their lower case. */
  readonly names: ReadonlyMap<string, string>
  readonly withoutRowId: ReadonlySet<unknown>
  readonly samples: ReadonlyMap<string, ReadonlyMap<string, ColumnSample>>
  readonly texts: ReadonlyMap<string, TableText>
}

function describe(table: ActualTable, catalogues: Catalogues): CatalogueTable {
  const { kinds, indexes, names, withoutRowId } = catalogues
  const samples = catalogues.samples.get(table.name)
  const { name, columns, primaryKey = [] } = table
  const { checks, caselessColumns } = catalogues.texts.get(name) ?? readTableText('')
  const counted = withoutRowId.has(name) ? undefined : countedColumn(table)
  return {
    schema: undefined,
    name,
    kind: tableKinds[kinds.get(name) ?? 'table'] ?? 'table',
    isPopulated: true,
    comment: undefined,
    columns: [...columns.values()].map((column) => ({
      name: column.name,
      type: column.type,
      form: {
        ...toColumnForm(column.type, samples?.get(column.name)),
        ...(caselessColumns.has(column.name.toLowerCase()) &&
          ({ equality: 'without case' } as const)),
      },
      nullable: column.nullable,
      preset: column.preset,
      isCounted: column === counted,
      isComputed: column.isComputed === true,
      comment: undefined,
      checks: [],
    })),
    primaryKey,
    indexes: indexes.get(name) ?? [],
    foreignKeys: table.foreignKeys.map((key) => ({
      columns: key.columns.map((column) => spelledIn(table, column)),
      schema: undefined,
      table: names.get(key.table.toLowerCase()) ?? key.table,
      foreignColumns: key.foreignColumns,
      onDelete: key.onDelete ?? 'no action',
    })),
    checks,
  }
}

function spelledIn({ columns }: ActualTable, name: string): string {
  if (columns.has(name)) return name
  return [...columns.keys()].find((one) => one.toLowerCase() === name.toLowerCase()) ?? name
}

const tableKinds: Readonly<Record<string, TableKind>> = { view: 'view', virtual: 'virtual table' }

/** The row id is counted: the only column of the key, of the exact type `integer`. Source: SQLite, ROWIDs. */
function countedColumn({ columns, primaryKey = [] }: ActualTable): ActualColumn | undefined {
  const [first, second] = primaryKey
  const column = first === undefined ? undefined : columns.get(first)
  return second === undefined && column?.type === 'integer' ? column : undefined
}

async function readIndexes(
  read: (sql: string) => Promise<readonly Row[]>,
): Promise<Map<string, CatalogueIndex[]>> {
  const indexes = new Map<string, { columns: string[]; unique: boolean }>()
  const byTable = new Map<string, CatalogueIndex[]>()
  for (const [table, name, unique, column] of await read(indexesSql)) {
    const index = indexes.get(String(name)) ?? { columns: [], unique: unique === 1 }
    index.columns.push(String(column))
    if (indexes.has(String(name))) continue
    indexes.set(String(name), index)
    byTable.set(String(table), [...(byTable.get(String(table)) ?? []), index])
  }
  return byTable
}

const textsSql = `select name, sql from sqlite_schema where type = 'table'`

const kindsSql = `select name, type, wr from pragma_table_list where schema = 'main'`

/** Without indexes over expressions, which have a column without a name. */
const indexesSql = `select t.name, i.name, i."unique", c.name
  from sqlite_schema t join pragma_index_list(t.name) i join pragma_index_info(i.name) c
  where t.type = 'table' and i.origin <> 'pk' and i.partial = 0
    and not exists (select 1 from pragma_index_info(i.name) e where e.name is null)
  order by t.name, i.name, c.seqno`
