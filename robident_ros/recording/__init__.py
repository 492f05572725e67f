"""Measured motion and efforts: what a recording is, and how it is read and written."""

from robident_ros.recording.bags import read_bag, write_bag
from robident_ros.recording.csv import read_csv, read_mapped, write_csv
from robident_ros.recording.files import read_recording
from robident_ros.recording.recording import Recording

__all__ = ['read_bag', 'read_csv', 'read_mapped', 'read_recording', 'Recording', 'write_bag',
           'write_csv']
