/** An application with sixty records and their routes, for the documentation page. */
import { Controller, Field, Module, Record as Table } from 'filigree'

const named = <C extends object>(type: C, name: string): C =>
  Object.defineProperty(type, 'name', { value: name })

const parts = Array.from({ length: 60 }, (_, index) => {
  const Part = named(class {}, `Part${index + 1}`)
  Field('id')(Part.prototype, 'id')
  Field('string', { maxLength: 200 })(Part.prototype, 'name')
  Field('string', { oneOf: ['open', 'closed'] })(Part.prototype, 'status')
  Field('numeric', { min: 0 })(Part.prototype, 'price')
  Field('datetime', { nullable: true })(Part.prototype, 'dueAt')
  Table(Part)
  return Part
})

const partControllers = parts.map((crud) => {
  const PartController = named(class {}, `${crud.name}Controller`)
  Controller(`/${crud.name.toLowerCase()}`, { crud })(PartController)
  return PartController
})

@Module({ records: parts, controllers: partControllers })
export class PartsModule {}
