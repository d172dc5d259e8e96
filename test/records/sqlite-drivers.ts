/** @returns the SQLite drivers that this runtime has, in order of preference */
import { chooseDriver, driverNames, type DriverName } from '../../src/engines/sqlite/drivers.js'

export async function findDrivers(): Promise<DriverName[]> {
  const found: DriverName[] = []
  for (const name of driverNames) {
    const driver = await chooseDriver(name).catch(() => undefined)
    if (driver !== undefined) found.push(driver.name)
  }
  return found
}
