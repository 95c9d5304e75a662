"""Rolls one VM with Microsoft's Python client and prints what it saw, as JSON."""

import json
import sys
import time

from azure.core.credentials import AccessToken
from azure.mgmt.compute import ComputeManagementClient

endpoint, ca_file, subscription, group, location, name, size = sys.argv[1:]


class Token:
    def get_token(self, *scopes, **kwargs):
        return AccessToken("token", int(time.time()) + 3600)


client = ComputeManagementClient(
    Token(), subscription, base_url=endpoint, connection_verify=ca_file, polling_interval=0.05
)
vms = client.virtual_machines


def power():
    statuses = vms.instance_view(group, name).statuses
    return next(one.code for one in statuses if one.code.startswith("PowerState/"))


seen = {"listed": [vm.name for vm in vms.list(group)], "powers": [power()]}
vms.begin_deallocate(group, name).result()
seen["powers"].append(power())
seen["possible"] = size in [one.name for one in vms.list_available_sizes(group, name)]
vms.begin_update(group, name, {"properties": {"hardwareProfile": {"vmSize": size}}}).result()
vm = vms.get(group, name, expand="instanceView")
disk_id = vm.storage_profile.os_disk.managed_disk.id
disk_name = disk_id.split("/")[-1]
disk = client.disks.begin_update(group, disk_name, {"properties": {"diskSizeGB": 200}}).result()
vms.begin_start(group, name).result()
seen["powers"].append(power())
seen["size"] = vms.get(group, name).hardware_profile.vm_size
seen["disk"] = disk.disk_size_gb
seen["skus"] = len(list(client.resource_skus.list(filter=f"location eq '{location}'")))
seen["cores"] = next(
    one.current_value for one in client.usage.list(location) if one.name.value == "cores"
)
try:
    vms.begin_start(group, "nobody").result()
except Exception as error:
    seen["error"] = error.error.code
print(json.dumps(seen))
