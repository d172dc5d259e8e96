/** The controls of a record's form: of its fields, and of the relations that are changed with it. */
import type { Control, ControlOptions } from './control.js'
import { orEmpty, withEmpty } from './empty.js'
import { makeControl } from './fields.js'
import { makeRelation, makeTies } from './relations.js'
import { recordNamed, type RecordInfo } from './schema.js'

/** Controls for the fields of a record or of the class of an action. */
export function makeControls(
  record: RecordInfo,
  options: ControlOptions,
  without: readonly string[] = [],
): Control[] {
  const { isNew, isLoose } = options
  const controls: Control[] = []
  for (const field of record.fields) {
    if (field.readOnly === true || without.includes(field.name)) continue
    const relation = record.relations?.find(({ name }) => name === field.by)
    const target = relation && recordNamed(relation.to)
    const control =
      relation !== undefined && target !== undefined
        ? makeRelation(relation, field, target, options)
        : makeControl(field, options)
    controls.push(isNew ? control : withEmpty(field, control, isLoose))
  }
  for (const relation of record.relations ?? []) {
    const target = recordNamed(relation.to)
    if (relation.kind !== 'ties' || relation.ids === undefined || target === undefined) continue
    const control = makeTies(relation, target, options)
    controls.push(isLoose === true ? orEmpty(control, []) : control)
  }
  return controls
}
