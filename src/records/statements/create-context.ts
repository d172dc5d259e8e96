/** Makes the parts that all repositories of a database share: codecs, statements and checks, each once for a table. */
import { concealInJson } from '../rights/shown-answers.js'
import { createTableCodec, type TableCodec } from '../model/codec.js'
import type { Table } from '../model/table.js'
import { TablePlans } from './plans.js'
import type { RecordsContext } from './source.js'
import { compileWriteChecks, type WriteChecks } from './write-check.js'

export function createContext({
  engine,
  kysely,
  now,
  tables,
  searchLimit,
  home,
}: Pick<
  RecordsContext,
  'engine' | 'kysely' | 'now' | 'tables' | 'searchLimit' | 'home'
>): RecordsContext {
  const { dialect } = engine
  const codecs = new WeakMap<Table, TableCodec>()
  const plans = new WeakMap<Table, TablePlans>()
  const checks = new WeakMap<Table, WriteChecks>()
  const codecOf = (table: Table): TableCodec =>
    remember(codecs, table, () => {
      concealInJson(table)
      return createTableCodec(table, dialect)
    })
  return Object.freeze({
    engine,
    kysely,
    tables,
    dialect,
    searchLimit,
    codecOf,
    plansOf: (table: Table) => remember(plans, table, () => new TablePlans(table, dialect)),
    checksOf: (table: Table) => remember(checks, table, () => compileWriteChecks(table, now)),
    now,
    home,
  })
}

function remember<K extends object, V>(kept: WeakMap<K, V>, key: K, make: () => V): V {
  const known = kept.get(key)
  if (known !== undefined) return known
  const made = make()
  kept.set(key, made)
  return made
}
