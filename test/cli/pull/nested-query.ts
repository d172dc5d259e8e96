/** A GraphQL query for rows of a record with all fields, and with its relations. */
import { queryNames, toCamelCase } from '../../../src/graphql/records/names.js'
import type { Table } from '../../../src/records/model/table.js'

/** The maximum number of relations, so that no query costs too much. */
const maxRelations = 6

export function nestedQueryOf(table: Table): string {
  const relations = [...table.relations.values()].slice(0, maxRelations).map((relation) => {
    const limit = relation.kind === 'belongsTo' ? '' : '(limit: 2)'
    return `${toCamelCase(relation.name)}${limit} { ${fieldsOf(relation.target)} }`
  })
  const { plural } = queryNames(table.type.name, table.options)
  return `{ ${plural}(limit: 3) { ${[fieldsOf(table), ...relations].join(' ')} } }`
}

function fieldsOf({ columns }: Table): string {
  return columns.map(({ property }) => toCamelCase(property)).join(' ')
}
