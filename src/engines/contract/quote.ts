/** A name in SQL. */

/** @returns the name in quotation marks: `"order"` */
export function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
